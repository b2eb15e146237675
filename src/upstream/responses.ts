import Type, { type Static, type TSchema } from 'typebox';
import {
  exactInteger,
  guardOf,
  int32,
  lenient,
  list as listOf,
  optional,
  readerOf,
  record,
  text,
} from './wire-types.ts';

/** The response to an operation: its record on the wire, and how it is decoded. */
export type ServiceResponse<Result> = {
  /** The record on the wire. If there are several, the service responds with one of them. */
  readonly wire: readonly TSchema[];
  /** Decodes a parsed body of `bytes` bytes. Throws a ContractFault if it does not match the declaration. */
  decode(body: unknown, bytes: number): Result;
  /** Whether a value is a result that was recorded for an idempotency key, by this version or an earlier one. */
  isRecorded(value: unknown): value is Result;
};

const isInt32 = guardOf(int32);
const nullable = <T extends TSchema>(type: T) => Type.Union([type, Type.Null()]);

/** ServiceStatus (docs/reference/service-api.md, section 2.1). */
export const serviceStatus = record({
  invoice_id: optional(exactInteger),
  message: optional(text),
  // A status that is not documented has a union member of its own (resolvers/status-member.ts).
  status: Type.Optional(lenient('integer')),
});
/** Reads a status record. Throws a ContractFault. */
export const readStatus = (body: unknown): ServiceStatus => statusOf(readRecord(body));
const readRecord = readerOf(serviceStatus);

/** A decoded ServiceStatus. `status` is null if it is missing or not a 32-bit integer. */
export type ServiceStatus = Static<typeof recordedStatus>;

/** A decoded ServiceStatus, as it is recorded for an idempotency key. A store may have those of earlier versions. */
export const recordedStatus = record({
  invoiceId: nullable(text),
  message: nullable(text),
  status: nullable(Type.Integer()),
});

function statusOf(checked: Static<typeof serviceStatus>): ServiceStatus {
  const { invoice_id = null, message = null, status } = checked;
  return { invoiceId: invoice_id, message, status: isInt32(status) ? status : null };
}

/** A status record. */
export const statusResponse: ServiceResponse<ServiceStatus> = {
  wire: [serviceStatus],
  decode: readStatus,
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

/** The memory that an item of a list takes besides its texts, in bytes: its record and its entity. */
const ITEM_BYTES = 160;

/**
 * The memory that the list in the result of a read takes, in bytes: its texts, the same texts prepared for searches, and its
 * items. V8 stores a text that has other characters than those of Latin-1 with two bytes for each.
 */
export function memoryOf(result: unknown): number {
  const { list, bytes = 0 }: { list?: unknown[]; bytes?: number } = Object(result);
  return list ? bytes * 4 + list.length * ITEM_BYTES : 0;
}

const container = record({
  service_status: optional(serviceStatus),
  list: optional(listOf(lenient('object'))),
});
const readContainer = readerOf(container);

/** A `list` of records with a `service_status`. A missing or null `list` counts as empty. */
export function listResponse<Item extends TSchema>(
  item: Item,
): ServiceResponse<ListResponse<Static<Item>>> {
  const readItems = readerOf(listOf(item));
  return {
    wire: [record({ ...container.properties, list: optional(listOf(item)) })],
    decode(body, bytes) {
      const { service_status, list } = readContainer(body);
      const status = statusOf(service_status ?? {});
      return { ...status, list: readItems(list ?? [], 'list'), bytes };
    },
    // A read has no idempotency key, so its response is never recorded.
    isRecorded: (_value): _value is ListResponse<Static<Item>> => false,
  };
}
