import Type, { type Static, type TSchema } from 'typebox';
import { numberText } from '../lib/json.ts';
import {
  exactInteger,
  guardOf,
  int32,
  lenient,
  optional,
  readerOf,
  record,
  text,
} from './wire-types.ts';

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
const isRecord = guardOf(record({}));
const readRecord = readerOf(record({}));

/**
 * Reads a status record. The status decides what became of an operation, so it is read in each form in which it is certain: as
 * an integer, as the text of one, or as its label. Other fields of an unexpected type are null, because they must not make a
 * clear status unknown. Throws a ContractFault if the value is no record.
 */
export function readStatus(value: unknown, ...at: PropertyKey[]): ServiceStatus {
  const fields: Record<string, unknown> = { ...readRecord(value, ...at) };
  const { invoice_id, message, status } = fields;
  return {
    invoiceId: typeof invoice_id === 'string' ? invoice_id : integerText(invoice_id),
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

/** The digits of an integer of any size. Null for other values. */
function integerText(value: unknown): string | null {
  const digits = numberText(value) ?? '';
  return /^-?\d{1,1000}$/.test(digits) ? digits : null;
}

function statusNumber(value: unknown): number | null {
  const label = typeof value === 'string' ? labels.indexOf(value.toUpperCase()) : -1;
  if (label >= 0) return label;
  const isText = typeof value === 'string' && /^-?(0|[1-9]\d*)$/.test(value);
  const status = isText ? Number(value) : value;
  return isInt32(status) ? status : null;
}
