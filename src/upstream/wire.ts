import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isExact } from '../json.ts';

/**
 * The records of the service as they stand on the wire (specification, section 2), and nothing of
 * how they get there. Identifiers are integers of any size on the wire and strings of digits here,
 * so that no digit is lost to a double.
 */

/** ServiceStatus (section 2.1). `status` is null where it is missing or no 32-bit integer. */
export type ServiceStatus = {
  invoiceId: string | null;
  message: string | null;
  status: number | null;
};

/** The integration targets (section 2.7). */
// biome-ignore format: the list reads as the specification's
export type IntegrationTarget =
  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 20 | 21 | 22 | 23 | 24 | 26 | 27
  | 33 | 34 | 35 | 36 | 37 | 38 | 39 | 40 | 41 | 42 | 43 | 44 | 45 | 46 | 47 | 48 | 49 | 50 | 51
  | 4001 | -1;

/** GLCodeInfo (section 2.3), with the target and project it was asked for. */
export type GlCodeInfo = {
  target: IntegrationTarget;
  project: string;
  code: string | null;
  name: string | null;
  value: string | null;
  hide: number | null;
};

/** GLCodeInfoSS (section 2.2). */
export type GlCodeInfoList = ServiceStatus & {
  codes: GlCodeInfo[];
  /** The length of the answer that they came in, in bytes. */
  size: number;
};

/** The answer of updateWorkflowCSV (section 2.6), or the status record it gave instead. */
export type WorkflowCsvAnswer = { unresolved: string | null; record: ServiceStatus | null };

/** The query of getGLCodes5 (section 4.1). */
export type GlCodesQuery = { target: IntegrationTarget; project: string; includeHide: boolean };

/** An integer of any size, as its digits. */
export type Integer = string;

/** Approver (section 2.4): a field that is undefined is not sent, one that is null is sent as null. */
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

/** The names of the fields that hold integers of any size. */
const integerFields = new Set(['approver_id', 'workflow_id', 'invoice_id']);

/** A record as JSON, its identifiers as the very integers that were given. */
export function encode(record: Approver[] | WorkflowCsvUpload): string {
  return JSON.stringify(record, (key, value: unknown) =>
    integerFields.has(key) && typeof value === 'string' ? JSON.rawJSON(value) : value,
  );
}

/** Sought for by name: looking at every number costs a long list seven times as much. */
const largeIdentifier = /("invoice_id"\s*:\s*)(-?[1-9]\d{15,})(?=\s*[,}])/g;

/** How many characters are decoded at a time, about: a matter of ten milliseconds. */
const PIECE = 1_000_000;
/** What no answer holds: it shows where a list was cut. */
const mark = randomUUID();

/**
 * Decodes an answer, its identifiers exact: one that a double would change comes as its digits. A long
 * list is decoded piece by piece, one with each `next`. Throws where it is no JSON.
 */
export function* decode(json: string, piece = PIECE): Generator<void, unknown> {
  const text = json.replace(largeIdentifier, (whole, name: string, digits: string) =>
    isExact(digits) ? whole : `${name}"${digits}"`,
  );
  const list = text.length > piece ? yield* decodeList(text, piece) : undefined;
  return list ?? JSON.parse(text);
}

/**
 * Decodes an object with a long `list` of records; undefined where it is something else. It is cut between
 * what looks like two records. Where it is not, in a string or deeper down, the brackets that are added do
 * not match, and what comes of it is no JSON.
 */
function* decodeList(text: string, piece: number): Generator<void, object | undefined> {
  const [first, ...others] = cut(text, piece);
  const last = others.pop();
  if (last === undefined) return undefined;
  try {
    const { list, ...head } = JSON.parse(`${first},"${mark}"]}`);
    if (!Array.isArray(list) || list.pop() !== mark) return undefined;
    const lists: unknown[][] = [];
    for (const records of others) {
      yield;
      lists.push(JSON.parse(`[${records}]`));
    }
    yield;
    const { [mark]: records, ...tail } = JSON.parse(`{"${mark}":[${last}`);
    if ('list' in tail) return undefined;
    return { ...head, ...tail, list: list.concat(...lists, records) };
  } catch {
    return undefined;
  }
}

/** Cuts a text between records, into pieces of so many characters or a little more. */
function cut(text: string, piece: number): string[] {
  const between = /(?<=\})[ \t\n\r]*,[ \t\n\r]*(?=\{)/g;
  const pieces = [];
  let start = 0;
  for (;;) {
    between.lastIndex = start + piece;
    const found = between.exec(text);
    pieces.push(text.slice(start, found?.index));
    if (!found) return pieces;
    start = between.lastIndex;
  }
}

const text = z.string().nullish();
// A string of digits is what `decode` makes of an integer that no double holds.
const digits = /^-?\d+$/;
const identifier = z
  .union([z.number(), z.string().min(16)])
  .transform(String)
  .pipe(z.string().regex(digits))
  .nullish();

const statusValue = z.int32();

const serviceStatus = z
  .object({ invoice_id: identifier, message: text, status: z.unknown().optional() })
  .transform(
    ({ invoice_id, message, status }): ServiceStatus => ({
      invoiceId: invoice_id ?? null,
      message: message ?? null,
      status: statusValue.safeParse(status).data ?? null,
    }),
  );

const glCodeInfoSS = z.object({
  service_status: serviceStatus.nullish(),
  list: z.unknown().optional(),
});

const unresolvedAnswer = z.object({ unresolved: text });

const missingRecord: ServiceStatus = { invoiceId: null, message: null, status: null };

/**
 * Reads a GLCodeInfoSS, of an answer of so many bytes; a missing or null `list` is an empty one. Throws
 * where it is none.
 */
export function readGlCodes(
  value: unknown,
  size: number,
  { target, project }: GlCodesQuery,
): GlCodeInfoList {
  const { service_status, list } = glCodeInfoSS.parse(value);
  if (list != null && !Array.isArray(list)) throw new TypeError('no list');
  // By hand: a schema makes each record twice, which for 2,000 codes is a tenth of a request.
  const codes = (list ?? []).map((info: unknown) => {
    if (typeof info !== 'object' || info === null) throw new TypeError('no GLCodeInfo');
    return {
      target,
      project,
      code: textOf('Code' in info ? info.Code : null),
      name: textOf('Name' in info ? info.Name : null),
      value: textOf('Value' in info ? info.Value : null),
      hide: integerOf('Hide' in info ? info.Hide : null),
    };
  });
  return { ...(service_status ?? missingRecord), codes, size };
}

function textOf(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  throw new TypeError('no string');
}

function integerOf(value: unknown): number | null {
  if (value === null || (typeof value === 'number' && (value | 0) === value)) return value;
  throw new TypeError('no 32-bit integer');
}

/** Reads a ServiceStatus. Throws where it is none. */
export function readStatus(value: unknown): ServiceStatus {
  return serviceStatus.parse(value);
}

/**
 * Reads the answer of updateWorkflowCSV. The specification shows `unresolved` alone; a record without
 * it, or with a `status` beside it, is read as a status record. Throws where it is no record.
 */
export function readWorkflowCsv(value: unknown): WorkflowCsvAnswer {
  const record = z.looseObject({}).parse(value);
  return {
    unresolved: unresolvedAnswer.parse(record).unresolved ?? null,
    record: 'unresolved' in record && !('status' in record) ? null : serviceStatus.parse(record),
  };
}

/** Whether an integer is an allowed value of the unnamed parameter of updateWorkflowCSV (section 4.3). */
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
