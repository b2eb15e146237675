import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { operations } from '../../src/upstream/declarations.ts';
import { parseBody } from '../../src/upstream/parse-body.ts';
import { listResponse } from '../../src/upstream/responses.ts';
import {
  double,
  encoderOf,
  exactInteger,
  flag,
  list,
  optional,
  record,
  text,
} from '../../src/upstream/wire-types.ts';

const { getGLCodes5, saveApproverList, upgradeToHQ, updateWorkflowCSV } = operations;
const decodeGlCodeList = getGLCodes5.response.decode;
const decodeServiceStatus = upgradeToHQ.response.decode;
const decodeWorkflowCsvResult = updateWorkflowCSV.response.decode;

const parse = (text: string) => parseBody(Buffer.from(text));

const long = '9007199254740993';
const nothing = { invoiceId: null, message: null, status: null };

/** Identifiers around the limit of a double, and far beyond. */
const identifier = fc.oneof(
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
  fc.bigInt({ min: 2n ** 53n - 100n, max: 2n ** 53n + 100n }),
  fc.bigInt({ min: -1000n, max: 1000n }),
);
const space = fc.constantFrom('', ' ', '\n\t');
/** Text that looks like an identifier in JSON. */
const message = fc.oneof(
  fc.string(),
  fc.constantFrom('"invoice_id": 9007199254740993,', '\\"invoice_id":9007199254740993}'),
);

test('keeps an identifier of any size exact, and every message unchanged', () => {
  fc.assert(
    fc.property(identifier, message, space, space, (id, text, before, after) => {
      const record = `{"invoice_id"${before}:${after}${id}${before},"message":${JSON.stringify(text)},"status":0${after}}`;
      const expected = { invoiceId: String(id), message: text, status: 0 };
      expect(decodeServiceStatus(parse(record), 0)).toEqual(expected);
      const list = `{"list":[],"service_status":${record}}`;
      expect(decodeGlCodeList(parse(list), 7)).toEqual({ ...expected, list: [], bytes: 7 });
    }),
    { numRuns: 500 },
  );
});

test('parses any other JSON like JSON.parse', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!/\d{16}/.test(text)); // An integer that is not safe in a double.
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
  );
});

test('rejects millions of empty records before they take memory', () => {
  const list = `[${'{},'.repeat(2_000_000)}{}]`;
  expect(() => parse(list)).toThrow(/^too many (composites|values)$/);
});

test('skips a byte order mark', () => {
  expect(parse('\ufeff{"status":0}')).toEqual({ status: 0 });
});

test.each([
  ['a lone byte', '7b226d657373616765223a22ff227d'],
  ['an encoded surrogate', '22eda08022'],
  ['an overlong encoding', '22c0af22'],
  ['a character that is cut off', '22e282'],
  ['UTF-16', '7b007d00'],
])('rejects invalid UTF-8: %s', (_, hex) => {
  expect(() => parseBody(Buffer.from(hex, 'hex'))).toThrow();
});

test.each([
  ['{}', nothing],
  ['{"invoice_id":null,"message":null,"status":null}', nothing],
  ['{"invoice_id":0,"message":"","status":0}', { invoiceId: '0', message: '', status: 0 }],
  ['{"invoice_id":12.0}', { ...nothing, invoiceId: '12' }],
  ['{"invoice_id":1e2}', { ...nothing, invoiceId: '100' }],
  ['{"\\u0069nvoice_id":9007199254740993}', { ...nothing, invoiceId: '9007199254740993' }],
  ['{"status":-2147483648}', { ...nothing, status: -2_147_483_648 }],
  ['{"status":7,"other":[1]}', { ...nothing, status: 7 }],
  ['{"status":2147483648}', nothing],
  ['{"status":0.5}', nothing],
  ['{"status":"0"}', nothing],
  ['{"status":[]}', nothing],
  ['{"status":1.0}', { ...nothing, status: 1 }],
  ['{"status":10e-1}', { ...nothing, status: 1 }],
  ['{"status":1e-400}', nothing],
  ['{"status":-1E-400}', nothing],
  [`{"status":0.${'0'.repeat(400)}1}`, nothing],
  ['{"status" : 1.0000000000000000001}', nothing],
  ['{"st\\u0061tus":1e-400}', nothing],
])('decodes the status record %s', (body, expected) => {
  expect(decodeServiceStatus(parse(body), 0)).toEqual(expected);
});

test('decodes a list as it is', () => {
  const list = [{ Code: '1', Name: null, Value: '', Hide: 1, Other: {} }, {}, { Hide: null }];
  const service_status = { invoice_id: 5, message: 'm', status: 1 };
  const body = parse(JSON.stringify({ service_status, list }));
  const status = { invoiceId: '5', message: 'm', status: 1 };
  expect(decodeGlCodeList(body, 123)).toEqual({ ...status, list, bytes: 123 });
});

test.each(['{}', '{"list":null}', '{"service_status":null}', '{"service_status":{},"list":[]}'])(
  'decodes missing fields as null and a missing list as an empty one: %s',
  (body) => {
    expect(decodeGlCodeList(parse(body), 1)).toEqual({ ...nothing, list: [], bytes: 1 });
  },
);

test.each([
  ['{"unresolved":"row 2"}', { unresolved: 'row 2', record: null }],
  ['{"unresolved":""}', { unresolved: '', record: null }],
  ['{"unresolved":null}', { unresolved: null, record: null }],
  ['{}', { unresolved: null, record: nothing }],
  ['{"status":3}', { unresolved: null, record: { ...nothing, status: 3 } }],
  ['{"unresolved":"row 2","status":1}', { unresolved: 'row 2', record: { ...nothing, status: 1 } }],
  [
    '{"invoice_id":9007199254740993}',
    { unresolved: null, record: { ...nothing, invoiceId: long } },
  ],
])('decodes the response to an upload %s', (body, expected) => {
  expect(decodeWorkflowCsvResult(parse(body), 0)).toEqual(expected);
});

const inexact = ['1.5', '9007199254740993.0', '9.007199254740993e15', '1e400', '1e-400'];
const noExactInteger = [...inexact, '"5"', '"9007199254740993"', 'true'];
const noInteger = ['"1"', '0.5', '2147483648', '1e-400', '1.0000000000000000001'];
const types: Record<string, string> = { '{': 'object', '[': 'array', '"': 'string', n: 'null' };
const typeOf = (json: string) => types[json.charAt(0)] ?? (/\d/.test(json) ? 'number' : 'boolean');

test.each<[(body: unknown, bytes: number) => object, body: string, fault: string, string[]]>([
  [decodeServiceStatus, '%', 'expected object', ['null', '0', '"OK"', '[]']],
  [decodeServiceStatus, '{"message":%}', 'message: expected string', ['1', '{}']],
  [decodeServiceStatus, '{"invoice_id":%}', 'invoice_id: expected integer', noExactInteger],
  [decodeGlCodeList, '%', 'expected object', ['null', '[]']],
  [decodeGlCodeList, '{"service_status":%}', 'service_status: expected object', ['0', '[]']],
  [
    decodeGlCodeList,
    '{"service_status":{"message":%}}',
    'service_status.message: expected string',
    ['{}'],
  ],
  [decodeGlCodeList, '{"list":%}', 'list: expected array', ['{}', '"[]"']],
  [
    decodeGlCodeList,
    '{"list":[{"Code":"1"},%]}',
    'list[1]: expected object',
    ['[]', 'null', '"1"', '1'],
  ],
  [decodeGlCodeList, '{"list":[{"Code":%}]}', 'list[0].Code: expected string', ['4010']],
  [decodeGlCodeList, '{"list":[{"Name":%}]}', 'list[0].Name: expected string', ['{}']],
  [decodeGlCodeList, '{"list":[{"Value":%}]}', 'list[0].Value: expected string', ['false']],
  [decodeGlCodeList, '{"list":[{"Hide":%}]}', 'list[0].Hide: expected integer', noInteger],
  [decodeWorkflowCsvResult, '%', 'expected object', ['null', '[]', '""']],
  [decodeWorkflowCsvResult, '{"message":%}', 'message: expected string', ['1']],
  [decodeWorkflowCsvResult, '{"unresolved":%}', 'unresolved: expected string', ['["row 2"]', '1']],
])('%p rejects %s, and names path and types: %s', (decode, body, fault, values) => {
  for (const value of values) {
    const parsed = parse(body.replace('%', value));
    expect(() => decode(parsed, 0)).toThrow(new Error(`${fault}, got ${typeOf(value)}`));
  }
});

const itemsOf = (item: TSchema, text: string) => listResponse(item).decode(parse(text), 0).list;

test.each<[TSchema, string, string | Record<string, unknown>]>([
  [record({ 'a.b': optional(exactInteger) }), `{"a.b":-${long}}`, { 'a.b': `-${long}` }],
  [record({ a: exactInteger }), `{"\\u0061" : ${long}}`, { a: long }],
  [exactInteger, ` ${long}`, long],
  [record({ a: list(exactInteger) }), `{"a":[1, ${long}]}`, { a: ['1', long] }],
  [record({ a: optional(list(exactInteger)) }), `{"b":"${long}, ${long}"}`, {}],
  [record({ a: optional(exactInteger) }), '{"a":null}', {}],
])('another list has exact numbers: %j in %s', (item, text, expected) => {
  const [decoded] = itemsOf(item, `{"list":[${text}]}`);
  expect(decoded).toEqual(
    typeof expected === 'string' ? expected : expect.objectContaining(expected),
  );
});

const vendor = record({
  Id: exactInteger,
  Currency: optional(text),
  Sites: optional(list(record({ Name: text, Is_open: flag }))),
});

test.each([
  ['{"Id":1,"Currency":{"a":1}}', 'list[0].Currency: expected string, got object'],
  ['{"Id":1,"Currency":["a"]}', 'list[0].Currency: expected string, got array'],
  ['{"Currency":"EUR"}', 'list[0].Id: expected integer, got undefined'],
  ['{"Id":null}', 'list[0].Id: expected integer, got null'],
  ['{"Id":1,"Sites":{}}', 'list[0].Sites: expected array, got object'],
  ['{"Id":1,"Sites":[{"Name":"a"}]}', 'list[0].Sites[0].Is_open: expected boolean, got undefined'],
  [
    '{"Id":1,"Sites":[{"Name":"a","Is_open":true},{"Name":1,"Is_open":true}]}',
    'list[0].Sites[1].Name: expected string, got number',
  ],
])('a declared field needs no check of its own: %s', (item, fault) => {
  expect(() => itemsOf(vendor, `{"list":[${item}]}`)).toThrow(new Error(fault));
});

test('a number of another type is rejected, where a double would change it', () => {
  for (const number of [long, '1e-400', '1.0000000000000000001']) {
    const decode = () => itemsOf(record({ a: double }), `{"list":[{"a":${number}}]}`);
    expect(decode).toThrow('list[0].a: expected number');
  }
});

test('writes identifiers of any size as integers, and everything else as JSON', () => {
  fc.assert(
    fc.property(identifier, identifier, message, (approver, workflow, name) => {
      const ids = { approver_id: String(approver), workflow_id: String(workflow) };
      expect(saveApproverList.encode({ body: [{ ...ids, name }] }).body).toBe(
        `[{"approver_id":${approver},"name":${JSON.stringify(name)},"workflow_id":${workflow}}]`,
      );
    }),
  );
});

test('what does not match its declaration is not sent', () => {
  const parameters = { target: 5, project: 'north', includeHide: false };
  const searchOf = (changed: object) =>
    getGLCodes5.encode({ parameters: Object({ ...parameters, ...changed }) }).search;
  expect(searchOf({})).toBe('?target=5&project=north&includeHide=false');
  expect(() => searchOf({ target: 13 })).toThrow(TypeError);
  expect(() => searchOf({ includeHide: undefined })).toThrow(TypeError);
  // One of another operation.
  const other = (value?: string) =>
    saveApproverList.encode({ parameters: Object({ invoice_id: value }), body: [] }).search;
  expect(() => other('7')).toThrow(TypeError);
  expect(other(undefined)).toBe('');
  // @ts-expect-error A body that is declared cannot be left out.
  expect(() => saveApproverList.encode()).toThrow(TypeError);
  const encode = encoderOf(record({ id: exactInteger }));
  for (const id of [undefined, null, 'x', '1.5', 5]) {
    const fault = `id: expected string, got ${id === null ? 'null' : typeof id}`;
    expect(() => encode(Object({ id }))).toThrow(new TypeError(fault));
  }
});
