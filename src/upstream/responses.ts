import Type, { type Static, type TObject, type TSchema } from 'typebox';
import {
  JsonLimitExceeded,
  type JsonLimits,
  numberText,
  parseJson,
  unusualNumber,
} from '../lib/json.ts';
import { invalidResponse } from './upstream-error.ts';
import {
  exactInteger,
  guardOf,
  int32,
  lenient,
  list as listOf,
  optional,
  record,
  text,
  typeOf,
  type WireType,
} from './wire-types.ts';

/** Rejects invalid UTF-8, and removes a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The most lists and objects in a response. 16 MB of typical codes have 250,000, and empty ones take 50 times their text. */
const limits: JsonLimits = { values: 2_000_000, composites: 300_000, nesting: 1000 };

/**
 * Parses the body of a response. Integers of any length stay exact, and with `keepsDigits` all numbers. Throws an UpstreamError if
 * the body is not UTF-8 or not JSON, or has too many values.
 */
export function parseBody(body: Uint8Array, keepsDigits = false): unknown {
  try {
    const json = utf8.decode(body);
    // A short body takes little memory, whatever it holds.
    const isPlain = body.length < 262_144 && !keepsDigits && !unusualNumber.test(json);
    return isPlain ? (JSON.parse(json) as unknown) : parseJson(json, limits, keepsDigits);
  } catch (error) {
    // The error of the parser is not passed on, because it quotes the body, which may be confidential.
    const fault = error instanceof JsonLimitExceeded ? error.message : 'not JSON';
    throw invalidResponse(`${fault}, ${body.length} bytes`);
  }
}

const nullable = <T extends TSchema>(type: T) => Type.Union([type, Type.Null()]);

/** ServiceStatus (docs/reference/service-api.md, section 2.1). */
export const serviceStatus = record({
  invoice_id: optional(exactInteger),
  message: optional(text),
  // A status that is not documented has a union member of its own (resolvers/status-member.ts).
  status: Type.Optional(lenient('integer')),
});

/** A decoded ServiceStatus, as it is recorded for an idempotency key. A store may have those of earlier versions. */
export const recordedStatus = record({
  invoiceId: nullable(text),
  message: nullable(text),
  status: nullable(Type.Integer()),
});

/** A decoded ServiceStatus. `status` is null if it is missing, or not a 32-bit integer. */
export type ServiceStatus = Static<typeof recordedStatus>;

/** The labels of the statuses 0 to 3 (section 3). */
const labels = ['OK', 'FAILED', 'NO_MORE_INVOICES', 'NOT_PERMITTED'];

const isInt32 = guardOf(int32);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The error for a value of another type, with its place in the response, but without the value. `shown` is for the client. */
function unexpected(place: string, expected: string, value: unknown, shown?: string) {
  return invalidResponse(`${place}expected ${expected}, got ${typeOf(value)}`, shown);
}

/** Reads a record whose fields are read one by one. Throws an UpstreamError. */
export function readRecord(value: unknown, place = ''): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value;
  throw unexpected(place, 'object', value);
}

/**
 * Reads a status record. The status decides what became of an operation, so it is read in each form in which it is certain: as
 * an integer, as the text of one, or as its label. Other fields of an unexpected type are null, because they must not make a
 * clear status unknown. Throws an UpstreamError if the value is no record.
 */
export function readStatus(value: unknown, place?: string): ServiceStatus {
  const { invoice_id, message, status } = readRecord(value, place);
  const digits = numberText(invoice_id);
  const isInteger = digits !== undefined && /^-?\d{1,1000}$/.test(digits);
  return {
    invoiceId: typeof invoice_id === 'string' ? invoice_id : isInteger ? digits : null,
    message: typeof message === 'string' ? message : null,
    status: statusNumber(status),
  };
}

/** The invoice of a record for the log and the audit record. Only a number is shown, because any other text may be secret. */
export function shownInvoice(invoiceId: string | null | undefined): string | undefined {
  return invoiceId && /^-?\d{1,100}$/.test(invoiceId) ? invoiceId : undefined;
}

/** The record of a status from 0 to 3 in the body of an error response: the body, or its `service_status`. Null if there is none. */
export function statusRecordIn(body: unknown): ServiceStatus | null {
  const { service_status = body }: { service_status?: unknown } = Object(body);
  if (!isRecord(service_status)) return null;
  const record = readStatus(service_status);
  return record.status !== null && record.status in labels ? record : null;
}

/** The number of a status: an integer, the text of one, or a label. Null for other values. */
function statusNumber(value: unknown): number | null {
  const text = typeof value === 'string' ? value.toUpperCase() : '';
  const label = labels.indexOf(text);
  if (label >= 0) return label;
  const status = /^-?(0|[1-9]\d*)$/.test(text) ? Number(text) : value;
  return isInt32(status) ? status : null;
}

/** The response to an operation: its record on the wire, and how it is decoded. */
export type ServiceResponse<Result> = {
  /** The record on the wire. If there are several, the service responds with one of them. */
  readonly wire: readonly TSchema[];
  /** Decodes a body. Throws an UpstreamError if it does not match the declaration. */
  decode(body: Uint8Array): Result;
  /** The result for a status record that the service sends in place of the declared response. */
  ofStatus(status: ServiceStatus): Result;
  /** Whether a value is a result that was recorded for an idempotency key, by this version or an earlier one. */
  isRecorded(value: unknown): value is Result;
};

/** A status record. */
export const statusResponse: ServiceResponse<ServiceStatus> = {
  wire: [serviceStatus],
  decode: (body) => readStatus(parseBody(body)),
  ofStatus: (status) => status,
  isRecorded: guardOf(recordedStatus),
};

/** A list of the service with its status record. */
export type ListResponse<Item> = ServiceStatus & {
  list: Item[];
  /** The length of the response body. */
  bytes: number;
};

/** Whether the result of a read is a list, and its status record reports no problem. `resolvers/status-member.ts` interprets the others. */
export function isList(result: unknown): result is ListResponse<object> {
  const { status, list }: { status?: unknown; list?: unknown } = Object(result);
  return status === 0 && Array.isArray(list);
}

/**
 * The memory that an item of a list takes besides its texts, in bytes: its record, its entity, and its places in orders and in the
 * index of references.
 */
const ITEM_BYTES = 200;

/**
 * The memory that the list in the result of a read takes, in bytes: its texts, the same texts prepared for searches, and its
 * items. V8 stores a text that has other characters than those of Latin-1 with two bytes for each. A prepared text has at most
 * two bytes for each (lib/search-text.ts).
 */
export function memoryOf(result: unknown): number {
  const { list, bytes = 0 }: { list?: unknown[]; bytes?: number } = Object(result);
  return list ? bytes * 4 + list.length * ITEM_BYTES : 0;
}

/** Reads the `list` of a response, whose rows are read one by one. */
function readRows(list: unknown): readonly unknown[] {
  if (Array.isArray(list)) return list;
  throw unexpected('list: ', 'array', list);
}

/** Throws an UpstreamError if a list is there, but its name is written in another way: it must not be taken for an empty one. */
function rejectOtherName(value: unknown): void {
  const other = Object.keys(Object(value)).find((name) => name.toLowerCase() === 'list');
  if (other === undefined) return;
  const shown = 'The list of the service is invalid: its name is not written as documented.';
  throw invalidResponse(`expected list, got ${other}`, shown);
}

/** A `list` of records with a `service_status`. A missing or null list is empty. Rows count only if the status reports no problem. */
export function listResponse<Row extends TObject>(
  row: Row,
): ServiceResponse<ListResponse<Static<Row>>> {
  const anyOf = Object.keys(row.properties).map((name) => ({ required: [name] }));
  // The rows of a list are read one by one only if this check fails.
  const areDeclared = guardOf(listOf(Type.Unsafe<Static<Row>>({ ...row, anyOf })));
  const readRow = rowReaderOf(row);
  return {
    wire: [record({ service_status: optional(serviceStatus), list: optional(listOf(row)) })],
    decode(body) {
      const value = parseBody(body);
      const { service_status, list } = readRecord(value);
      const status = readStatus(service_status ?? {}, 'service_status: ');
      if (status.status !== 0) return { ...status, list: [], bytes: body.length };
      if (list === undefined) rejectOtherName(value);
      const rows = readRows(list ?? []);
      if (areDeclared(rows)) return { ...status, list: rows, bytes: body.length };
      let exact: readonly unknown[] | undefined;
      const exactRow = (index: number) => {
        exact ??= readRows(readRecord(parseBody(body, true)).list);
        return exact[index];
      };
      const read = rows.map((value, index) => readRow(value, index, exactRow));
      return { ...status, list: read, bytes: body.length };
    },
    ofStatus: (status) => ({ ...status, list: [], bytes: 0 }),
    // A read has no idempotency key, so its response is never recorded.
    isRecorded: (_value): _value is ListResponse<Static<Row>> => false,
  };
}

/**
 * Creates a function that reads the row at an index of a list. Throws an UpstreamError if a field cannot be read, or if the row has
 * none of the declared fields: then they have other names than documented.
 *
 * Types that are as certain as the declared ones are accepted, too: a number for a text, which is its digits as the service
 * writes them, and the text of an integer for an integer. `exactRow` returns the row at an index with exact numbers.
 */
function rowReaderOf<Row extends TObject>(type: Row) {
  const { properties = {}, required = [] }: WireType = type;
  const names = Object.keys(properties);
  const fields = Object.entries(properties).map(([name, field]) => {
    const [kind = ''] = [field.type].flat();
    return { name, kind, mayMiss: !required.includes(name), isDeclared: guardOf(field) };
  });
  return (row: unknown, index: number, exactRow: (index: number) => unknown): Static<Row> => {
    const place = `list[${index}]`;
    const shown = (problem: string) =>
      `The list of the service is invalid: row ${index + 1} ${problem}.`;
    if (!isRecord(row)) throw unexpected(`${place}: `, 'object', row, shown('cannot be read'));
    if (!names.some((name) => name in row)) {
      const fault = `${place}: expected ${names.join(', ')}, got none of them`;
      throw invalidResponse(fault, shown(`has no ${names[0]?.toLowerCase()}`));
    }
    const entries = fields.map(({ name, kind, mayMiss, isDeclared }) => {
      const given = row[name];
      const exact = () => Reflect.get(Object(exactRow(index)), name) as unknown;
      const value = converted(given, kind, exact);
      if (value === undefined ? mayMiss : isDeclared(value)) return [name, value];
      const problem = `has a ${name.toLowerCase()} that cannot be read`;
      throw unexpected(`${place}.${name}: `, kind, given, shown(problem));
    });
    return Object.fromEntries(entries) as Static<Row>; // Each field is as declared.
  };
}

/** A value as the declared type, if it is certain. */
function converted(value: unknown, kind: string, exact: () => unknown): unknown {
  if (kind === 'string' && numberText(value) !== undefined) return numberText(exact());
  const isInteger = kind === 'integer' && typeof value === 'string' && /^-?\d{1,10}$/.test(value);
  return isInteger ? Number(value) : value;
}
