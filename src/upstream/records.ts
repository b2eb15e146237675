import { z } from 'zod';
import { type JsonLimits, longNumber, parseJson } from '../lib/json.ts';
import { shorten } from '../lib/short-text.ts';
import { exactInteger, int32, isInt32, unusualIntegers } from './exact-integer.ts';

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

/** The integration targets (section 2.7). */
// biome-ignore format: the list reads as in docs/service-api.md
export type IntegrationTarget =
  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 20 | 21 | 22 | 23 | 24 | 26 | 27
  | 33 | 34 | 35 | 36 | 37 | 38 | 39 | 40 | 41 | 42 | 43 | 44 | 45 | 46 | 47 | 48 | 49 | 50 | 51
  | 4001 | -1;

/** The query of getGLCodes5 (section 4.1). */
export type GlCodesQuery = { target: IntegrationTarget; project: string; includeHide: boolean };

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
/** A shorter body, in bytes, takes little memory, whatever it holds. */
const SHORT_BYTES = 262_144;

/** How the response to an operation is read. */
export type ResponseFormat<Response> = {
  /** Where its text may have an integer that a double changes. */
  readonly unusual: RegExp;
  /** Decodes the parsed body, of so many bytes. Throws a ContractFault if it does not match docs/service-api.md. */
  readonly decode: (body: unknown, bytes: number) => Response;
};

/** The format of a response with this record, which says where integers are. */
function formatOf<Response>(
  record: z.ZodType,
  decode: (body: unknown, bytes: number) => Response,
): ResponseFormat<Response> {
  return { unusual: unusualIntegers(record), decode };
}

/**
 * Parses the body of a response, with integers of any length. Throws if the body is not UTF-8 or not JSON, or has too
 * many values.
 */
export function parseBody(body: Uint8Array, { unusual }: Pick<ResponseFormat<unknown>, 'unusual'>) {
  const text = utf8.decode(body);
  if (body.length < SHORT_BYTES && !unusual.test(text)) return JSON.parse(text) as unknown;
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

const serviceStatus = z
  .object({
    invoice_id: exactInteger.nullish(),
    message: text,
    status: int32.nullish().catch(null),
  })
  .transform(
    ({ invoice_id, message, status }): ServiceStatus => ({
      invoiceId: invoice_id ?? null,
      message: message ?? null,
      status: status ?? null,
    }),
  );

/** A list whose items are not decoded yet. */
const rawList = z.object({
  service_status: serviceStatus.nullish(),
  list: z.custom<unknown[]>(Array.isArray).nullish(),
});

const unresolvedRecord = z.object({ unresolved: text });

const missingStatus: ServiceStatus = { invoiceId: null, message: null, status: null };

/**
 * The format of a `list` of records with a `service_status`; a missing or null `list` is an empty one. `isPlain` may check
 * an item by hand, which is faster than its schema.
 */
export function listFormat<Item>(
  item: z.ZodType<Item>,
  isPlain: (value: unknown) => value is Item = (value): value is Item => false,
): ResponseFormat<ListResponse<Item>> {
  const record = z.object({ service_status: serviceStatus, list: z.array(item) });
  return formatOf(record, (body, bytes) => {
    const { service_status, list } = plainListOf(body) ?? parseAs(rawList, body);
    const items = (list ?? []).map((value, index) =>
      isPlain(value) ? value : parseAs(item, value, 'list', index),
    );
    return { ...(service_status ?? missingStatus), list: items, bytes };
  });
}

export const glCodeList: ResponseFormat<GlCodeList> = listFormat(glCodeInfo, isGlCodeInfo);

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

function decodeServiceStatus(body: unknown, bytes: number): ServiceStatus {
  const status = plainStatusOf(body) ?? parseAs(serviceStatus, body);
  return { ...status, message: shortenIfLarge(status.message, bytes) };
}

export const statusFormat = formatOf(serviceStatus, decodeServiceStatus);

/**
 * The response of updateWorkflowCSV. docs/service-api.md shows only `unresolved`; a record without it, or with a
 * `status` beside it, is decoded as a status record.
 */
export const csvResultFormat = formatOf(
  z.union([unresolvedRecord, serviceStatus]),
  decodeWorkflowCsvResult,
);

function decodeWorkflowCsvResult(body: unknown, bytes: number): WorkflowCsvResult {
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
