import { expect, jest, test } from '@jest/globals';
import { buildSchema, type GraphQLResolveInfo, graphql } from 'graphql';
import { Account } from '../../src/account/account.ts';
import { ResponseLimits } from '../../src/graphql/response-limits.ts';
import { createLoaders } from '../../src/resolvers/loaders.ts';
import { createClient } from '../../src/upstream/client.ts';
import { reply, startService } from '../support/service.ts';
import { scopeOf, startCalls } from '../support/upstream-call.ts';

const MEGABYTE = 1_048_576;
const schema = buildSchema('type Query { s: S } type S { message: String, codes: [S] }');

/** Executes a query for an object with a text, as often as it is selected, with what a resolver does about it. */
async function execute(
  { message, times, list = false }: { message: string; times: number; list?: boolean },
  admit: (value: { message: string }, info: GraphQLResolveInfo) => unknown,
): Promise<string> {
  const fields = Array.from({ length: times }, (_, n) => `a${n}: message`).join(' ');
  const source = list ? `{ s { codes { ${fields} } } }` : `{ s { ${fields} } }`;
  const rootValue = {
    s: (_: unknown, __: unknown, info: GraphQLResolveInfo) => admit({ message }, info),
  };
  const { data, errors } = await graphql({ schema, source, rootValue });
  if (errors) throw errors[0]?.originalError;
  return JSON.stringify(data);
}

function limitsOf(account: Account, turn = scopeOf().turn) {
  const holding = account.open('a');
  return new ResponseLimits({ ...scopeOf(), holding, turn }, 16 * MEGABYTE);
}

test.each(['m', '€', '\u0001'])(
  'the outcomes of writes, with many times %j, are cut until there is memory for their bytes',
  async (char) => {
    const account = new Account(8 * MEGABYTE);
    const written = { message: char.repeat(20_000), times: 20 };
    const lengths: number[] = [];
    let bytes = 0;
    for (let n = 0; n < 20; n++) {
      const limits = limitsOf(account);
      const response = await execute(written, (value, info) => limits.fitOutcome(value, info));
      const { length } = JSON.parse(response).s.a0;
      lengths.push(length);
      if (length > 101) bytes += Buffer.byteLength(response);
      expect(account.bytes).toBeGreaterThanOrEqual(bytes);
    }
    expect([lengths.at(0), lengths.at(-1)]).toEqual([20_000, 101]);
    expect(lengths).toEqual(lengths.toSorted((one, other) => other - one));
  },
);

test('the outcome of a write is encoded in a turn, also if its client disconnected', async () => {
  const turn = jest.fn(scopeOf().turn);
  const limits = limitsOf(new Account(8 * MEGABYTE), turn);
  const written = { message: 'm'.repeat(MEGABYTE), times: 1 };
  const response = await execute(written, (value, info) => limits.fitOutcome(value, info));
  expect(JSON.parse(response).s.a0).toBe(written.message);
  expect(turn.mock.calls).toEqual([[]]); // Without a signal.
});

test('errors are made of a failed call in a turn, also if the client disconnected', async () => {
  const service = await startService(reply(404));
  const turn = jest.fn(scopeOf().turn);
  const scope = { ...scopeOf(), turn };
  const client = createClient(startCalls(service).calls, scope);
  const { glCodes } = createLoaders(client, new ResponseLimits(scope, MEGABYTE));
  const loading = glCodes.load({ target: 5, project: 'north', includeHide: false });
  await expect(loading).rejects.toMatchObject({ code: 'UPSTREAM_BAD_REQUEST' });
  expect(turn.mock.calls.at(-1)).toEqual([]); // Without a signal.
});

test.each([
  ['a part of a list', true],
  ['the status record beside a list', false],
])(
  '%s is booked as its JSON, with escape sequences, as often as it is selected',
  async (...row) => {
    const [, list] = row;
    const account = new Account(4 * MEGABYTE);
    const limits = limitsOf(account);
    const page = { message: '\u0001"'.repeat(10_000), times: 20, list };
    const response = await execute(page, async (value, info) => {
      const result = list ? { codes: [value] } : value;
      await limits.admitResult(result, info);
      return result;
    });
    expect(account.bytes).toBeGreaterThanOrEqual(Buffer.byteLength(response) - 1000);
  },
);

test('the items of a list with any name are counted, and those of the lists in its items', async () => {
  const lists = buildSchema(
    'type Query { s: S } type S { vendors: [V] } type V { name: String, sites: [X] } type X { name: String }',
  );
  const admitted = (sites: number, aliases: number) => {
    const vendor = { name: '', sites: Array(sites).fill({ name: '' }) };
    const names = Array.from({ length: aliases }, (_, n) => `a${n}: name`).join(' ');
    return graphql({
      schema: lists,
      source: `{ s { vendors { name sites { ${names} } } } }`,
      rootValue: {
        async s(_: unknown, __: unknown, info: GraphQLResolveInfo) {
          const limits = limitsOf(new Account(Infinity));
          limits.start('compiled');
          const result = { vendors: Array(100).fill(vendor) };
          await limits.admitResult(result, info);
          return { vendors: [] };
        },
      },
    });
  };
  // Each vendor has two fields, and those of its sites.
  expect(await admitted(499, 10)).toEqual({ data: { s: { vendors: [] } } });
  const { errors } = await admitted(500, 10);
  expect(errors?.[0]?.originalError).toMatchObject({ code: 'OPERATION_LIMIT_EXCEEDED' });
});

test('a response is measured before it is written, and may have twice as many bytes as one of the service', async () => {
  const measure = async (texts: string[]) => {
    const limits = limitsOf(new Account(Infinity));
    await execute({ message: 'm'.repeat(2 * MEGABYTE), times: 20 }, async (value, info) => {
      await limits.admitResult(value, info);
      return value;
    });
    return limits.serialize({ data: texts });
  };
  const half = '\u0001'.repeat((16 * MEGABYTE - 10) / 6); // Each is an escape sequence.
  const text = JSON.stringify({ data: [half, half] });
  expect(String(await measure([half, half]))).toBe(text);
  const error = { code: 'OPERATION_LIMIT_EXCEEDED' };
  await expect(measure([half, half, half])).rejects.toMatchObject(error);
});
