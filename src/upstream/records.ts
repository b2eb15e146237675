import { z } from 'zod';
import { type JsonLimits, longNumber, parseJson } from '../lib/json.ts';
import { shorten } from '../lib/short-text.ts';

/*
 * The records of the service as JSON (docs/service-api.md, section 2), and how they are encoded and
 * decoded. Identifiers are integers of any size on the wire and strings of digits here, because a double
 * would change large ones.
 */

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

const isInt32 = (value: unknown): value is number =>
  typeof value === 'number' && (value | 0) === value;

/** GLCodeInfo (section 2.3). */
const glCodeInfo = z.object({
  Code: text,
  Name: text,
  Value: text,
  Hide: z.custom<number>(isInt32).nullish(),
});
export type GlCodeInfo = z.infer<typeof glCodeInfo>;

/** GLCodeInfoSS (section 2.2). */
export type GlCodeList = ServiceStatus & {
  list: GlCodeInfo[];
  /** The length of the response body. */
  bytes: number;
};

/** The integration targets (section 2.7). */
// biome-ignore format: the list reads as in docs/service-api.md
export type IntegrationTarget =
  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 20 | 21 | 22 | 23 | 24 | 26 | 27
  | 33 | 34 | 35 | 36 | 37 | 38 | 39 | 40 | 41 | 42 | 43 | 44 | 45 | 46 | 47 | 48 | 49 | 50 | 51
  | 4001 | -1;

/** The query of getGLCodes5 (section 4.1). */
export type GlCodesQuery = { target: IntegrationTarget; project: string; includeHide: boolean };

/** An integer of any size, as its digits. */
export type Integer = string;

/** Approver (section 2.4). An undefined field is not sent; null is sent as null. */
export type Approver = {
  approver_id?: Integer | null | undefined;
  claim_limit?: number | null | undefined;
  description?: string | null | undefined;
  email?: string | null | undefined;
  email_upload?: string | null | undefined;
  is_disable_approval?: boolean | null | undefined;
  is_expense_claim?: boolean | null | undefined;
  my_bank_account?: string | null | undefined;
  my_email?: string | null | undefined;
  name?: string | null | undefined;
  workflow_id?: Integer | null | undefined;
  workflow_name?: string | null | undefined;
};

/** The body of updateWorkflowCSV (section 2.5). */
export type WorkflowCsvUpload = {
  PictureName: string;
  /** Base64. */
  PictureStream: string;
  service_status?: {
    invoice_id?: Integer | null | undefined;
    message?: string | null | undefined;
  };
};

const integerFields = new Set(['approver_id', 'workflow_id', 'invoice_id']);

/** Encodes a record as JSON, with identifiers as integers. */
export function encode(record: Approver[] | WorkflowCsvUpload): string {
  return JSON.stringify(record, (key, value: unknown) =>
    integerFields.has(key) && typeof value === 'string' ? JSON.rawJSON(value) : value,
  );
}

/** Rejects invalid UTF-8, and removes a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Where an integer may be one that a double changes, or no integer but one to a double (`1e-400`). By field name, because
 * examining every number takes a quarter of the time of parsing a list; the name may be written with an escape.
 */
const unusualInteger = /\\u|"(?:invoice_id|status|Hide)"\s*:\s*-?(?:[\d.]{16}|[\d.]+[eE])/;

/** A list of 16 MB of typical codes has 250,000. An empty one takes 50 times its text in memory. */
const limits: JsonLimits = { values: 2_000_000, composites: 300_000, nesting: 1000 };
/** A shorter body, in bytes, takes little memory, whatever it holds. */
const SHORT_BYTES = 262_144;

/**
 * Parses the body of a response, with integers of any length. Throws if the body is not UTF-8 or not JSON, or has too
 * many values.
 */
export function parseBody(body: Uint8Array): unknown {
  const text = utf8.decode(body);
  if (body.length < SHORT_BYTES && !unusualInteger.test(text)) return JSON.parse(text);
  return parseJson(text, limits);
}

/** Where a response differs from docs/service-api.md. The message has paths and types, never values. */
export class ContractFault extends Error {
  constructor(path: readonly PropertyKey[], expected: string, actual: unknown) {
    const where = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`));
    const start = where.length > 0 ? `${where.join('').replace(/^\./, '')}: ` : '';
    super(`${start}expected ${expected}, got ${typeOf(actual)}`);
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return longNumber(value) === undefined ? typeof value : 'number';
}

/** Reads a value, which is at a path, by a schema. Throws a ContractFault. */
function parseAs<Result>(schema: z.ZodType<Result>, body: unknown, ...at: PropertyKey[]): Result {
  const { data, error } = schema.safeParse(body);
  if (!error) return data;
  const [issue] = error.issues;
  const path = issue?.path ?? [];
  const actual = path.reduce<unknown>((value, key) => Object(value)[key], body);
  const other = path.at(-1) === 'list' ? 'array' : 'integer';
  const expected = issue?.code === 'invalid_type' ? issue.expected : other;
  throw new ContractFault([...at, ...path], expected, actual);
}

const longInteger = z.custom((value) => longNumber(value) !== undefined).transform(longNumber);
const identifier = z
  .union([z.number().transform(String), longInteger])
  // No real one has more digits, and each may be selected hundreds of times.
  .pipe(z.string().regex(/^-?\d{1,1000}$/))
  .nullish();

const serviceStatus = z
  .object({ invoice_id: identifier, message: text, status: z.unknown().optional() })
  .transform(
    ({ invoice_id, message, status }): ServiceStatus => ({
      invoiceId: invoice_id ?? null,
      message: message ?? null,
      status: isInt32(status) ? status : null,
    }),
  );

const glCodeInfoSS = z.object({
  service_status: serviceStatus.nullish(),
  list: z.custom<unknown[]>(Array.isArray).nullish(),
});

const unresolvedRecord = z.object({ unresolved: text });

const missingStatus: ServiceStatus = { invoiceId: null, message: null, status: null };

/** Decodes a GLCodeInfoSS; a missing or null `list` is an empty one. Throws if it is invalid. */
export function decodeGlCodeList(body: unknown, bytes: number): GlCodeList {
  const { service_status, list } = plainListOf(body) ?? parseAs(glCodeInfoSS, body);
  const codes = (list ?? []).map((code, index) =>
    isGlCodeInfo(code) ? code : parseAs(glCodeInfo, code, 'list', index),
  );
  return { ...(service_status ?? missingStatus), list: codes, bytes };
}

/*
 * Nearly all records are plain ones, which are checked by hand. A schema takes much longer: it is only for long
 * identifiers, and for the fault of an invalid record.
 */

function plainListOf(body: unknown) {
  if (!isRecord(body)) return undefined;
  const { service_status = null, list = null } = body;
  const status = service_status === null ? null : plainStatusOf(service_status);
  if (status === undefined || (list !== null && !Array.isArray(list))) return undefined;
  return { service_status: status, list: list satisfies unknown[] | null };
}

function plainStatusOf(body: unknown): ServiceStatus | undefined {
  if (!isRecord(body)) return undefined;
  const { invoice_id = null, message = null, status } = body;
  const hasPlainId = invoice_id === null || Number.isSafeInteger(invoice_id);
  if (!hasPlainId || !isText(message)) return undefined;
  return {
    invoiceId: invoice_id === null ? null : String(invoice_id),
    message,
    status: isInt32(status) ? status : null,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isGlCodeInfo(value: unknown): value is GlCodeInfo {
  if (!isRecord(value)) return false;
  const { Code = null, Name = null, Value = null, Hide = null } = value;
  return isText(Code) && isText(Name) && isText(Value) && (Hide === null || isInt32(Hide));
}

function isText(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

/** A larger response to a write, in bytes, is passed on in a short form: its outcome must reach the client. */
const MAX_WRITE_BYTES = 1_048_576;

function shortenIfLarge(text: string | null, bytes: number): string | null {
  return bytes <= MAX_WRITE_BYTES || text === null ? text : shorten(text);
}

/** Decodes a ServiceStatus. Throws if it is invalid. */
export function decodeServiceStatus(body: unknown, bytes: number): ServiceStatus {
  const status = plainStatusOf(body) ?? parseAs(serviceStatus, body);
  return { ...status, message: shortenIfLarge(status.message, bytes) };
}

/**
 * Decodes the response of updateWorkflowCSV. docs/service-api.md shows only `unresolved`; a record without
 * it, or with a `status` beside it, is decoded as a status record. Throws if it is not an object.
 */
export function decodeWorkflowCsvResult(body: unknown, bytes: number): WorkflowCsvResult {
  const record = parseAs(z.looseObject({}), body);
  return {
    unresolved: shortenIfLarge(parseAs(unresolvedRecord, record).unresolved ?? null, bytes),
    record:
      'unresolved' in record && !('status' in record) ? null : decodeServiceStatus(record, bytes),
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
