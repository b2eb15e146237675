import { expect, jest, test } from '@jest/globals';
import { buildSchema, type GraphQLResolveInfo, graphql } from 'graphql';
import { createLoaders } from '../../src/graphql/loaders.ts';
import { MAX_REFERENCES, ResponseLimits } from '../../src/graphql/response-limits.ts';
import { selectionCosts } from '../../src/graphql/selection-cost.ts';
import { readGlCodes } from '../../src/resolvers/gl-codes.ts';
import { reply, startService } from '../../testkit/service.ts';
import { createMemory, createReservation, type Memory } from '../support/admission.ts';
import { scopeOf, startCalls } from '../support/upstream-call.ts';

const MEGABYTE = 1_048_576;
const schema = buildSchema(`
  type Query { s: S }
  type S { message: String, codes: [C], vendors: [V] }
  type C { message: String }
  type V { name: String }`);
const aliases = (count: number, field: string) =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ');
const messages = aliases(20, 'message');

/** Executes a query for the field `s` with this selection and resolver. */
async function execute(selection: string, resolve: (info: GraphQLResolveInfo) => unknown) {
  const rootValue = { s: (_: unknown, __: unknown, info: GraphQLResolveInfo) => resolve(info) };
  const { data, errors } = await graphql({ schema, source: `{ s { ${selection} } }`, rootValue });
  if (errors) throw errors[0]?.originalError;
  return JSON.stringify(data);
}

function limitsOf(memory: Memory, turn = scopeOf().turn) {
  const reservation = createReservation(memory, 'a');
  return new ResponseLimits({ ...scopeOf(), reservation, turn }, 16 * MEGABYTE);
}

test.each(['m', '€', '\u0001'])(
  'the outcomes of writes, with many times %j, are cut until there is memory for their bytes',
  async (char) => {
    const memory = createMemory(8 * MEGABYTE);
    const written = { message: char.repeat(20_000) };
    const lengths: number[] = [];
    let bytes = 0;
    for (let n = 0; n < 20; n++) {
      const limits = limitsOf(memory);
      const response = await execute(messages, (info) => limits.fitOutcome(written, info));
      const { length } = JSON.parse(response).s.a0;
      lengths.push(length);
      if (length > 257) bytes += Buffer.byteLength(response);
      expect(memory.held).toBeGreaterThanOrEqual(bytes);
    }
    expect([lengths.at(0), lengths.at(-1)]).toEqual([20_000, 257]);
    expect(lengths).toEqual(lengths.toSorted((one, other) => other - one));
  },
);

test('without memory, the texts of a settled key are cut, but no request id, and none of its writes is left out', async () => {
  const responseName = 'r'.repeat(255);
  const written = { __typename: 'WorkflowCsvUploaded', message: 'm'.repeat(20_000) };
  const requestId = 'i'.repeat(128); // As long as one may be.
  const unknown = {
    responseName: 'unknown',
    outcome: { __typename: 'LedgerOutcomeUnknown', code: 'UPSTREAM_TIMEOUT', requestId },
  };
  const settled = { writes: [{ responseName, outcome: written }, unknown], isComplete: true };
  const lengths: number[] = [];
  const memory = createMemory(MEGABYTE);
  for (let n = 0; n < 10; n++) {
    const limits = limitsOf(memory);
    const fitted: unknown[] = [];
    await execute(messages, async (info) => fitted.push(await limits.fitOutcome(settled, info)));
    const message: unknown = expect.stringMatching(/^m+…?$/);
    expect(fitted).toEqual([
      {
        writes: [{ responseName, outcome: { ...written, message } }, unknown],
        isComplete: true,
      },
    ]);
    lengths.push(JSON.stringify(fitted).length);
  }
  expect(lengths.at(0)).toBeGreaterThan(20_000);
  expect(lengths.at(-1)).toBeLessThan(1000);
});

test('the outcome of a write is encoded in a turn, also if its client disconnected', async () => {
  const turn = jest.fn(scopeOf().turn);
  const limits = limitsOf(createMemory(8 * MEGABYTE), turn);
  const written = { message: 'm'.repeat(MEGABYTE) };
  const response = await execute('message', (info) => limits.fitOutcome(written, info));
  expect(JSON.parse(response).s).toEqual(written);
  expect(turn.mock.calls).toEqual([[]]); // Without a signal.
});

test('a short outcome, and a short response without errors, need no turn', async () => {
  const turn = jest.fn(scopeOf().turn);
  const limits = limitsOf(createMemory(8 * MEGABYTE), turn);
  const written = { message: 'm'.repeat(1000) };
  await execute('message', (info) => limits.fitOutcome(written, info));
  await limits.admitResponse({ data: written });
  expect(turn).not.toHaveBeenCalled();
  await limits.admitResponse({ data: written, errors: [] });
  expect(turn).toHaveBeenCalledTimes(1);
});

test('errors are made of a failed call in a turn, also if the client disconnected', async () => {
  const service = await startService(reply(404));
  const turn = jest.fn(scopeOf().turn);
  const scope = { ...scopeOf(), turn };
  const { calls } = startCalls(service);
  const loaders = createLoaders(calls, scope, new ResponseLimits(scope, MEGABYTE));
  const loading = readGlCodes(loaders, { target: 5, project: 'north', includeHide: false });
  await expect(loading).rejects.toMatchObject({ code: 'UPSTREAM_BAD_REQUEST' });
  expect(turn.mock.calls.at(-1)).toEqual([]); // Without a signal.
});

const text = { message: '\u0001"'.repeat(10_000) };

test.each([
  ['a part of a list', `codes { ${messages} }`, { codes: [text] }],
  ['the status record beside a list', messages, text],
])('%s is booked as its JSON as often as it is selected', async (_, selection, result) => {
  const memory = createMemory(4 * MEGABYTE);
  const limits = limitsOf(memory);
  const response = await execute(selection, async (info) => {
    await limits.admitResult(result, info);
    return result;
  });
  expect(memory.held).toBeGreaterThanOrEqual(Buffer.byteLength(response) - 1000);
});

test('the names of fields beside a list are not booked for each of its items', async () => {
  const memory = createMemory(16 * MEGABYTE);
  const limits = limitsOf(memory);
  limits.start('compiled');
  const selection = `${'x'.repeat(250)}: message codes { message }`;
  const result = { codes: Array(50_000).fill({}) };
  const admitted = execute(selection, (info) => limits.admitResult(result, info));
  expect(await admitted).toBe('{"s":null}');
});

test.each([
  // The field of the list counts, too.
  [
    'a list with any name',
    `vendors { ${aliases(10, 'name')} }`,
    { vendors: Array(49_999).fill({}) },
  ],
  [
    'each of several lists',
    'codes { message } vendors { name }',
    { codes: Array(249_998).fill({}), vendors: [] },
  ],
])('the items of %s are counted', async (_, selection, result) => {
  const admit = (more: object) =>
    execute(selection, (info) => {
      const limits = limitsOf(createMemory());
      limits.start('compiled');
      return limits.admitResult({ ...result, ...more }, info);
    });
  expect(await admit({})).toBe('{"s":null}');
  const vendors = Array(50_000).fill({});
  await expect(admit({ vendors })).rejects.toMatchObject({ code: 'OPERATION_LIMIT_EXCEEDED' });
});

test('the fields of references are counted', async () => {
  const admit = (fields: number) =>
    execute(aliases(fields, 'message'), async (info) => {
      const limits = limitsOf(createMemory());
      limits.start('compiled');
      limits.admitReferences(MAX_REFERENCES, info);
      await limits.admitResult(Array(MAX_REFERENCES).fill({}), info);
    });
  expect(await admit(100)).toBe('{"s":null}');
  await expect(admit(101)).rejects.toMatchObject({
    code: 'OPERATION_LIMIT_EXCEEDED',
    message: expect.stringContaining('500000'),
  });
});

test('a schema in which the items of a list have lists is rejected', () => {
  const nested = buildSchema('type Query { a: A } type A { b: [B] } type B { c: [String] }');
  expect(() => selectionCosts(nested, new Map())).toThrow('The items of a list have lists.');
});

test('a response is measured before it is written, and may have twice as many bytes as one of the service', async () => {
  const measure = async (texts: string[]) => {
    const limits = limitsOf(createMemory());
    const value = { message: 'm'.repeat(2 * MEGABYTE) };
    await execute(messages, (info) => limits.admitResult(value, info));
    return limits.admitResponse({ data: texts });
  };
  const half = '\u0001'.repeat((16 * MEGABYTE - 10) / 6); // Each is an escape sequence.
  await measure([half, half]);
  const error = { code: 'OPERATION_LIMIT_EXCEEDED' };
  await expect(measure([half, half, half])).rejects.toMatchObject(error);
});

test('a response whose entities have long texts is measured, and not sent if it is too long', async () => {
  const reservation = createReservation();
  const limits = new ResponseLimits({ ...scopeOf(), reservation }, MEGABYTE);
  const entity = { message: 'm'.repeat(MEGABYTE / 8) };
  const response = await execute(messages, async (info) => {
    await limits.admitResult([entity], info);
    return entity;
  });
  const measure = async () => limits.admitResponse({ data: JSON.parse(response) });
  await expect(measure()).rejects.toMatchObject({ code: 'OPERATION_LIMIT_EXCEEDED' });
});
