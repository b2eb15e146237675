import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { TObject } from 'typebox';
import { operations } from '../../src/upstream/declarations.ts';
import { listResponse, parseBody, type ServiceResponse } from '../../src/upstream/responses.ts';
import { double, list, optional, record, text } from '../../src/upstream/wire-types.ts';

const { getGLCodes5, saveApproverList, upgradeToHQ, updateWorkflowCSV } = operations;
/** Decodes the text of a body. */
const textDecoder =
  <Result>({ decode }: ServiceResponse<Result>) =>
  (body: string): Result =>
    decode(Buffer.from(body));
const decodeGlCodeList = textDecoder(getGLCodes5.response);
const decodeServiceStatus = textDecoder(upgradeToHQ.response);
const decodeWorkflowCsvResult = textDecoder(updateWorkflowCSV.response);

const parse = (text: string) => parseBody(Buffer.from(text));

/** The error for an invalid response, with a fault for the log, and a message for clients. */
const invalid = (fault: unknown, message: unknown = expect.any(String)) =>
  expect.objectContaining({ fault, message });

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
      expect(decodeServiceStatus(record)).toEqual(expected);
      const list = `{"list":[],"service_status":${record}}`;
      const bytes = Buffer.byteLength(list);
      expect(decodeGlCodeList(list)).toEqual({ ...expected, list: [], bytes });
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
  expect(() => parse(list)).toThrow(invalid('too many composites, 6000004 bytes'));
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
  ['{"status":"0"}', { ...nothing, status: 0 }],
  ['{"status":"-7"}', { ...nothing, status: -7 }],
  ['{"status":"OK"}', { ...nothing, status: 0 }],
  ['{"status":"FAILED"}', { ...nothing, status: 1 }],
  ['{"status":"NO_MORE_INVOICES"}', { ...nothing, status: 2 }],
  ['{"status":"Not_Permitted"}', { ...nothing, status: 3 }],
  ['{"status":"Done"}', nothing],
  ['{"status":"00"}', nothing],
  ['{"status":" 0"}', nothing],
  ['{"status":"0.0"}', nothing],
  ['{"status":"2147483648"}', nothing],
  ['{"status":"constructor"}', nothing],
  ['{"status":true}', nothing],
  // Other types of its neighbours do not make a clear status unknown.
  [`{"invoice_id":"${long}","status":0}`, { ...nothing, invoiceId: long, status: 0 }],
  ['{"invoice_id":"INV-2","status":0}', { ...nothing, invoiceId: 'INV-2', status: 0 }],
  ['{"invoice_id":1.5,"message":5,"status":0}', { ...nothing, status: 0 }],
  [`{"invoice_id":${long}.0,"status":0}`, { ...nothing, status: 0 }],
  [`{"invoice_id":1e400,"status":0}`, { ...nothing, status: 0 }],
  ['{"invoice_id":[],"message":["a"],"status":1}', { ...nothing, status: 1 }],
  ['{"invoice_id":true,"message":{},"status":"3"}', { ...nothing, status: 3 }],
  ['{"invoice_id":"","status":3}', { ...nothing, invoiceId: '', status: 3 }],
  ['{"status":[]}', nothing],
  ['{"status":1.0}', { ...nothing, status: 1 }],
  ['{"status":10e-1}', { ...nothing, status: 1 }],
  ['{"status":1e-400}', nothing],
  ['{"status":-1E-400}', nothing],
  [`{"status":0.${'0'.repeat(400)}1}`, nothing],
  ['{"status" : 1.0000000000000000001}', nothing],
  ['{"st\\u0061tus":1e-400}', nothing],
])('decodes the status record %s', (body, expected) => {
  expect(decodeServiceStatus(body)).toEqual(expected);
});

test('decodes a list as it is', () => {
  const list = [{ Code: '1', Name: null, Value: '', Hide: 1, Other: {} }, { Hide: null }];
  const service_status = { invoice_id: 5, message: 'm', status: 0 };
  const body = JSON.stringify({ service_status, list });
  const status = { invoiceId: '5', message: 'm', status: 0 };
  expect(decodeGlCodeList(body)).toEqual({ ...status, list, bytes: body.length });
});

test.each([
  ['{"Code":4010}', { Code: '4010' }],
  ['{"Code":12.50,"Name":1e2,"Value":-0.0}', { Code: '12.50', Name: '1e2', Value: '-0.0' }],
  [`{"Code":${long},"Name":1E400}`, { Code: long, Name: '1E400' }],
  ['{"Code":"1","Hide":"0"}', { Code: '1', Hide: 0 }],
  ['{"Code":1.0,"Hide":1.0}', { Code: '1.0', Hide: 1 }],
])(
  'a row has the digits of numbers as the service writes them, and integers in texts: %s',
  (row, expected) => {
    const body = `{"service_status":{"status":"OK"},"list":[{"Code":"a"},${row}]}`;
    const [first, decoded] = decodeGlCodeList(body).list;
    expect(first).toEqual({ Code: 'a' });
    expect(JSON.parse(JSON.stringify(decoded))).toEqual(expected);
  },
);

test.each(['1', '3', '7', '"FAILED"', 'null'])(
  'the status %s counts, whatever the list is',
  (status) => {
    const body = (list: string) => `{"service_status":{"status":${status}},"list":${list}}`;
    for (const list of ['[{"Hide":"x"}]', '{}', '"none"']) {
      expect(decodeGlCodeList(body(list))).toMatchObject({ list: [] });
    }
  },
);

test.each(['{}', '{"list":null}', '{"service_status":null}', '{"service_status":{},"list":[]}'])(
  'decodes missing fields as null and a missing list as an empty one: %s',
  (body) => {
    expect(decodeGlCodeList(body)).toEqual({ ...nothing, list: [], bytes: body.length });
  },
);

test.each([
  ['{"unresolved":"row 2"}', { unresolved: 'row 2', record: null }],
  ['{"unresolved":""}', { unresolved: '', record: null }],
  ['{"unresolved":null}', { unresolved: null, record: null }],
  ['{"unresolved":5.50}', { unresolved: '5.50', record: null }],
  [
    `{"unresolved":["INV-2",{"id":${long}}, true]}`,
    { unresolved: `["INV-2",{"id":${long}},true]`, record: null },
  ],
  ['{"unresolved":[],"status":"FAILED"}', { unresolved: '[]', record: { ...nothing, status: 1 } }],
  ['{}', { unresolved: null, record: nothing }],
  ['{"status":3}', { unresolved: null, record: { ...nothing, status: 3 } }],
  ['{"unresolved":"row 2","status":1}', { unresolved: 'row 2', record: { ...nothing, status: 1 } }],
  [
    '{"invoice_id":9007199254740993}',
    { unresolved: null, record: { ...nothing, invoiceId: long } },
  ],
])('decodes the response to an upload %s', (body, expected) => {
  expect(decodeWorkflowCsvResult(body)).toEqual(expected);
});

const noInteger = ['"x"', '"1.0"', '0.5', '2147483648', '1e-400', 'true'];
const types: Record<string, string> = { '{': 'object', '[': 'array', '"': 'string', n: 'null' };
const typeOf = (json: string) => types[json.charAt(0)] ?? (/\d/.test(json) ? 'number' : 'boolean');
const listOf = (list: string) => `{"service_status":{"status":0},"list":${list}}`;

test.each<[(body: string) => object, body: string, fault: string, string[]]>([
  [decodeServiceStatus, '%', 'expected object', ['null', '0', '"OK"', '[]']],
  [decodeGlCodeList, '%', 'expected object', ['null', '[]']],
  [decodeGlCodeList, '{"service_status":%}', 'service_status: expected object', ['0', '[]']],
  [decodeGlCodeList, listOf('%'), 'list: expected array', ['{}', '"[]"']],
  [
    decodeGlCodeList,
    listOf('[{"Code":"1"},%]'),
    'list[1]: expected object',
    ['[]', 'null', '"1"', '1'],
  ],
  [decodeGlCodeList, listOf('[{"Code":%}]'), 'list[0].Code: expected string', ['true', '[]']],
  [decodeGlCodeList, listOf('[{"Name":%}]'), 'list[0].Name: expected string', ['{}']],
  [decodeGlCodeList, listOf('[{"Value":%}]'), 'list[0].Value: expected string', ['false']],
  [decodeGlCodeList, listOf('[{"Hide":%}]'), 'list[0].Hide: expected integer', noInteger],
  [decodeWorkflowCsvResult, '%', 'expected object', ['null', '[]', '""']],
])('%p rejects %s, and names path and types: %s', (decode, body, fault, values) => {
  for (const value of values) {
    const decodeValue = () => decode(body.replace('%', value));
    expect(decodeValue).toThrow(invalid(expect.stringContaining(`${fault}, got ${typeOf(value)}`)));
  }
});

test.each([
  ['{"code":"1","name":"n"}', 'expected Code, Name, Value, Hide, got none of them', 'has no code'],
  ['{}', 'expected Code, Name, Value, Hide, got none of them', 'has no code'],
  [
    '{"Code":true}',
    'list[250].Code: expected string, got boolean',
    'has a code that cannot be read',
  ],
  [
    '{"Hide":"no"}',
    'list[250].Hide: expected integer, got string',
    'has a hide that cannot be read',
  ],
  [
    '{"Hide":{"toString":1}}',
    'list[250].Hide: expected integer, got object',
    'has a hide that cannot be read',
  ],
  ['null', 'list[250]: expected object, got null', 'cannot be read'],
])('the client learns which row of a list is invalid: %s', (row, fault, problem) => {
  const list = listOf(`[${'{"Code":"1"},'.repeat(250)}${row}]`);
  const shown = `The list of the service is invalid: row 251 ${problem}.`;
  expect(() => decodeGlCodeList(list)).toThrow(invalid(expect.stringContaining(fault), shown));
});

test.each(['List', 'LIST'])('a list with the name %s is not taken for an empty one', (name) => {
  const body = listOf('[{"Code":"1"}]').replace('"list"', JSON.stringify(name));
  const shown = 'The list of the service is invalid: its name is not written as documented.';
  expect(() => decodeGlCodeList(body)).toThrow(invalid(`expected list, got ${name}`, shown));
});

const itemsOf = (row: TObject, text: string) => textDecoder(listResponse(row))(listOf(text)).list;

const vendor = record({ Id: text, Currency: optional(text), Sites: optional(list(text)) });

test.each([
  ['{"Id":"1","Currency":{"a":1}}', 'list[0].Currency: expected string, got object'],
  ['{"Id":"1","Currency":["a"]}', 'list[0].Currency: expected string, got array'],
  ['{"Currency":"EUR"}', 'list[0].Id: expected string, got undefined'],
  ['{"Id":null}', 'list[0].Id: expected string, got null'],
  ['{"Id":"1","Sites":{}}', 'list[0].Sites: expected array, got object'],
])('a declared field needs no check of its own: %s', (item, fault) => {
  expect(() => itemsOf(vendor, `[${item}]`)).toThrow(invalid(fault));
});

test('a number of another type is rejected, where a double would change it', () => {
  for (const number of [long, '1e-400', '1.0000000000000000001']) {
    const decode = () => itemsOf(record({ a: double }), `[{"a":${number}}]`);
    expect(decode).toThrow(invalid(expect.stringContaining('list[0].a: expected number')));
  }
});

test('writes identifiers of any size as integers, and everything else as JSON', () => {
  fc.assert(
    fc.property(identifier, identifier, message, (approver, workflow, name) => {
      const ids = { approver_id: String(approver), workflow_id: String(workflow) };
      expect(saveApproverList.encode({}, [{ ...ids, name }]).body).toBe(
        `[{"approver_id":${approver},"name":${JSON.stringify(name)},"workflow_id":${workflow}}]`,
      );
    }),
  );
});

test('what does not match its declaration is not sent', () => {
  const parameters = { target: 5, project: 'north', includeHide: false };
  const searchOf = (changed: object) =>
    getGLCodes5.encode(Object({ ...parameters, ...changed })).search;
  expect(searchOf({})).toBe('?target=5&project=north&includeHide=false');
  expect(() => searchOf({ target: 13 })).toThrow(TypeError);
  expect(() => searchOf({ includeHide: undefined })).toThrow(TypeError);
  expect(() => searchOf({ project: null })).toThrow(TypeError);
  // One of another operation.
  const other = (value?: string) =>
    saveApproverList.encode(Object({ invoice_id: value }), []).search;
  expect(() => other('7')).toThrow(TypeError);
  expect(other(undefined)).toBe('');
  // @ts-expect-error A body that is declared cannot be left out.
  expect(() => saveApproverList.encode({})).toThrow(TypeError);
  for (const approver_id of ['x', '1.5', 5]) {
    const encode = () => saveApproverList.encode({}, [Object({ approver_id })]);
    expect(encode).toThrow(
      new TypeError('A request of saveApproverList does not match its declaration.'),
    );
  }
});
