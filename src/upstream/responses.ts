import type { Static, TObject, TSchema } from 'typebox';
import { rowReaderOf } from './list-row.ts';
import { parseBody } from './parse-body.ts';
import { readStatus, recordedStatus, type ServiceStatus, serviceStatus } from './status-record.ts';
import {
  ContractFault,
  guardOf,
  lenient,
  list as listOf,
  optional,
  readerOf,
  record,
} from './wire-types.ts';

/** The response to an operation: its record on the wire, and how it is decoded. */
export type ServiceResponse<Result> = {
  /** The record on the wire. If there are several, the service responds with one of them. */
  readonly wire: readonly TSchema[];
  /** Decodes a body. Throws a ContractFault if it does not match the declaration. */
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

/** The memory that an item of a list takes besides its texts, in bytes: its record, its entity, and its places in orders. */
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

const readContainer = readerOf(
  record({ service_status: optional(lenient('object')), list: optional(lenient('array')) }),
);
const readRows = readerOf(listOf(lenient('object')));

/** Throws a ContractFault if a list is there, but its name is written in another way: it must not be taken for an empty one. */
function rejectOtherName(value: unknown): void {
  const other = Object.keys(Object(value)).find((name) => name.toLowerCase() === 'list');
  if (other === undefined) return;
  const shown = 'The list of the service is invalid: its name is not written as documented.';
  throw new ContractFault(`expected list, got ${other}`, shown);
}

/**
 * A `list` of records with a `service_status`. A missing or null `list` counts as empty. The list counts only if the status
 * reports no problem.
 */
export function listResponse<Row extends TObject>(
  row: Row,
): ServiceResponse<ListResponse<Static<Row>>> {
  const readRow = rowReaderOf(row);
  const rowsOf = (list: unknown) => readRows(list ?? [], 'list');
  return {
    wire: [record({ service_status: optional(serviceStatus), list: optional(listOf(row)) })],
    decode(body) {
      const value = parseBody(body);
      const { service_status, list } = readContainer(value);
      const status = readStatus(service_status ?? {}, 'service_status');
      if (status.status !== 0) return { ...status, list: [], bytes: body.length };
      if (list === undefined) rejectOtherName(value);
      let exact: unknown[] | undefined;
      const exactRow = (index: number) => {
        exact ??= rowsOf(readContainer(parseBody(body, true)).list);
        return exact[index];
      };
      const rows = rowsOf(list).map((value, index) => readRow(value, index, () => exactRow(index)));
      return { ...status, list: rows, bytes: body.length };
    },
    ofStatus: (status) => ({ ...status, list: [], bytes: 0 }),
    // A read has no idempotency key, so its response is never recorded.
    isRecorded: (_value): _value is ListResponse<Static<Row>> => false,
  };
}
