import { z } from 'zod';
import { JsonLimitExceeded, type JsonLimits, longNumber, parseJson } from '../lib/json.ts';
import { shorten } from '../lib/short-text.ts';

/*
 * The records of the service as JSON (docs/service-api.md, section 2), and how they are encoded and
 * decoded. Identifiers are integers of any size on the wire and strings of digits here, because a double
 * would change large ones: a plain number would be rejected.
 */

/** The digits of a parsed number, whatever its length. Undefined for other values. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : longNumber(value);
}

const digits = /^-?\d{1,1000}$/;

/**
 * An integer of any size: a number in JSON, its digits as text in the code. No real one has more than 1,000, and each may
 * be selected hundreds of times.
 */
export const exactInteger = z.codec(
  z.custom<number | object>((value) => textOf(value) !== undefined || JSON.isRawJSON(value)),
  z.string().regex(digits),
  { decode: (value) => textOf(value) ?? '', encode: (text) => JSON.rawJSON(text) },
);

const isInt32 = (value: unknown): value is number =>
  typeof value === 'number' && (value | 0) === value;

/** An integer of 32 bits, as the type `Int` of GraphQL. */
export const int32 = z.custom<number>(isInt32);

const nullableText = z.string().nullable();
const text = z.string().nullish();

/** A decoded ServiceStatus (section 2.1). `status` is null if it is missing or not a 32-bit integer. */
export const recordedStatus = z.object({
  invoiceId: nullableText,
  message: nullableText,
  status: z.int().nullable(),
});
export type ServiceStatus = z.infer<typeof recordedStatus>;

/** The decoded response of updateWorkflowCSV (section 2.6), or the status record that the service returns instead. */
export const recordedCsvResult = z.object({
  unresolved: nullableText,
  record: recordedStatus.nullable(),
});
export type WorkflowCsvResult = z.infer<typeof recordedCsvResult>;

/** GLCodeInfo (section 2.3). */
const glCodeInfo = z.object({
  Code: text,
  Name: text,
  Value: text,
  Hide: int32.nullish(),
});
export type GlCodeInfo = z.infer<typeof glCodeInfo>;

/** A list of the service with its status record. */
export type ListResponse<Item> = ServiceStatus & {
  list: Item[];
  /** The length of the response body. */
  bytes: number;
};

/** GLCodeInfoSS (section 2.2). */
export type GlCodeList = ListResponse<GlCodeInfo>;

const approver = z.object({
  approver_id: exactInteger.nullish(),
  claim_limit: z.number().nullish(),
  description: text,
  email: text,
  email_upload: text,
  is_disable_approval: z.boolean().nullish(),
  is_expense_claim: z.boolean().nullish(),
  my_bank_account: text,
  my_email: text,
  name: text,
  workflow_id: exactInteger.nullish(),
  workflow_name: text,
});
/** Approver (section 2.4). An undefined field is not sent; null is sent as null. */
export type Approver = z.output<typeof approver>;

const csvUpload = z.object({
  PictureName: z.string(),
  /** Base64. */
  PictureStream: z.string(),
  service_status: z.object({ invoice_id: exactInteger.nullish(), message: text }).optional(),
});
/** The body of updateWorkflowCSV (section 2.5). */
export type WorkflowCsvUpload = z.output<typeof csvUpload>;

/** Encodes the body of saveApproverList. */
export function encodeApprovers(approvers: Approver[]): string {
  return JSON.stringify(z.encode(z.array(approver), approvers));
}

/** Encodes the body of updateWorkflowCSV. */
export function encodeCsvUpload(upload: WorkflowCsvUpload): string {
  return JSON.stringify(z.encode(csvUpload, upload));
}

/** Rejects invalid UTF-8, and removes a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A list of 16 MB of typical codes has 250,000. An empty one takes 50 times its text in memory. */
const limits: JsonLimits = { values: 2_000_000, composites: 300_000, nesting: 1000 };
/** A number that a double may change, or no integer but one to a double (`1e-400`); or what looks like one in a text. */
const unusualNumber = /[:[,]\s*-?(?:[\d.]{16}|[\d.]+[eE])/;

/** Parses the body of a response, with integers of any length. Throws a ContractFault if it is not UTF-8 or not JSON, or has too many values. */
export function parseBody(body: Uint8Array): unknown {
  try {
    const text = utf8.decode(body);
    // A short body takes little memory, whatever it holds.
    const isPlain = body.length < 262_144 && !unusualNumber.test(text);
    return isPlain ? (JSON.parse(text) as unknown) : parseJson(text, limits);
  } catch (error) {
    // The error of a parser quotes the body, which may be confidential.
    throw new ContractFault(error instanceof JsonLimitExceeded ? error.message : 'not JSON');
  }
}

/** Decodes a parsed body, of so many bytes. Throws a ContractFault if it does not match docs/service-api.md. */
export type Decode<Response> = (body: unknown, bytes: number) => Response;

/** Where a response differs from docs/service-api.md. The message has paths and types, never values. */
export class ContractFault extends Error {}

function mismatch(path: readonly PropertyKey[], expected: string, actual: unknown): ContractFault {
  const where = path.length > 0 ? `${z.core.toDotPath(path)}: ` : '';
  return new ContractFault(`${where}expected ${expected}, got ${typeOf(actual)}`);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return longNumber(value) === undefined ? typeof value : 'number';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

/** Reads a value, which is at a path, by a schema. Throws a ContractFault. */
function parseAs<Result>(schema: z.ZodType<Result>, body: unknown, ...at: PropertyKey[]): Result {
  const { data, error } = schema.safeParse(body);
  if (!error) return data;
  const [issue] = error.issues;
  const path = issue?.path ?? [];
  const actual = path.reduce<unknown>((value, key) => Object(value)[key], body);
  const expected = issue?.code === 'invalid_type' ? issue.expected : 'integer';
  throw mismatch([...at, ...path], expected, actual);
}

/** Reads a status record, which is at a path. By hand, because a schema takes much longer. Throws a ContractFault. */
function readStatus(record: unknown, ...at: PropertyKey[]): ServiceStatus {
  if (!isRecord(record)) throw mismatch(at, 'object', record);
  const { invoice_id = null, message = null, status } = record;
  const invoiceId = invoice_id === null ? null : (textOf(invoice_id) ?? '');
  if (invoiceId !== null && !digits.test(invoiceId)) {
    throw mismatch([...at, 'invoice_id'], 'integer', invoice_id);
  }
  if (!isText(message)) throw mismatch([...at, 'message'], 'string', message);
  return { invoiceId, message, status: isInt32(status) ? status : null };
}

/**
 * Decodes a `list` of records with a `service_status`; a missing or null `list` is an empty one. `isPlain` may check
 * an item by hand: then the schema only names its fault.
 */
export function listOf<Item>(
  item: z.ZodType<Item>,
  isPlain: (value: unknown) => value is Item = (value): value is Item => false,
): Decode<ListResponse<Item>> {
  return (body, bytes) => {
    if (!isRecord(body)) throw mismatch([], 'object', body);
    const list: unknown = body.list ?? [];
    if (!Array.isArray(list)) throw mismatch(['list'], 'array', list);
    const status = readStatus(body.service_status ?? {}, 'service_status');
    const items = list.map((value: unknown, index) =>
      isPlain(value) ? value : parseAs(item, value, 'list', index),
    );
    return { ...status, list: items, bytes };
  };
}

export const decodeGlCodeList: Decode<GlCodeList> = listOf(glCodeInfo, isGlCodeInfo);

function isGlCodeInfo(value: unknown): value is GlCodeInfo {
  if (!isRecord(value)) return false;
  const { Code = null, Name = null, Value = null, Hide = null } = value;
  return isText(Code) && isText(Name) && isText(Value) && (Hide === null || isInt32(Hide));
}

/** A response to a write of more than 1 MiB is passed on in a short form: its outcome must reach the client. */
function shortenIfLarge(text: string | null, bytes: number): string | null {
  return bytes <= 1_048_576 || text === null ? text : shorten(text);
}

export function decodeServiceStatus(body: unknown, bytes: number): ServiceStatus {
  const status = readStatus(body);
  return { ...status, message: shortenIfLarge(status.message, bytes) };
}

/**
 * The response of updateWorkflowCSV. docs/service-api.md shows only `unresolved`; a record without it, or with a
 * `status` beside it, is decoded as a status record.
 */
export function decodeWorkflowCsvResult(body: unknown, bytes: number): WorkflowCsvResult {
  if (!isRecord(body)) throw mismatch([], 'object', body);
  const { unresolved = null } = body;
  if (!isText(unresolved)) throw mismatch(['unresolved'], 'string', unresolved);
  const isStatus = !('unresolved' in body) || 'status' in body;
  return {
    unresolved: shortenIfLarge(unresolved, bytes),
    record: isStatus ? decodeServiceStatus(body, bytes) : null,
  };
}

/** Whether an integer is an allowed value of the unnamed query parameter of updateWorkflowCSV (section 4.3). */
export function isWorkflowCsvOption(value: number): boolean {
  return workflowCsvOptions.some(([first, last]) => first <= value && value <= last);
}

const workflowCsvOptions: readonly (readonly [first: number, last: number])[] = [
  [-6, -1],
  [1, 27],
  [30, 31],
  [99, 99],
  [101, 160],
  [208, 360],
  [369, 421],
  [423, 454],
  [461, 500],
];
