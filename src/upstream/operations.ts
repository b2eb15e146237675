import type { z } from 'zod';
import {
  type Decode,
  decodeGlCodeList,
  decodeServiceStatus,
  decodeWorkflowCsvResult,
  recordedCsvResult,
  recordedStatus,
} from './records.ts';

type Operation<Response> = {
  readonly method: 'GET' | 'POST';
  /** Whether the operation may change state. Retries, connections and decoding follow from it. */
  readonly effect: 'read' | 'write';
  readonly decode: Decode<Response>;
  /** Reads back a response that was recorded for an idempotency key. Null for a read. */
  readonly recorded: z.ZodType<Response> | null;
  /** The field of the schema. */
  readonly graphql: `Query.${string}` | `Mutation.${string}`;
};

const workflowAction = {
  method: 'GET',
  effect: 'write',
  decode: decodeServiceStatus,
  recorded: recordedStatus,
  graphql: 'Mutation.workflowAction',
} as const;

/**
 * The operations of the service (docs/service-api.md, section 4), one row each. De-duplication and abort follow from the
 * row too: only a read can be passed to `Calls.read`. Other code names an operation only to build its request or its
 * union member.
 */
const table = {
  getGLCodes5: {
    method: 'GET',
    effect: 'read',
    decode: decodeGlCodeList,
    recorded: null,
    graphql: 'Query.glCodes',
  },
  saveApproverList: {
    method: 'POST',
    effect: 'write',
    decode: decodeServiceStatus,
    recorded: recordedStatus,
    graphql: 'Mutation.saveApprovers',
  },
  updateWorkflowCSV: {
    method: 'POST',
    effect: 'write',
    decode: decodeWorkflowCsvResult,
    recorded: recordedCsvResult,
    graphql: 'Mutation.uploadWorkflowCsv',
  },
  restartWorkflowAndMoveToNext: workflowAction,
  reStoreGlobalSolution: workflowAction,
  reStoreSolution: workflowAction,
  restartWorkflow2: workflowAction,
  updateSolutionGuide: workflowAction,
  upgradeToHQ: workflowAction,
} as const satisfies Record<string, Operation<unknown>>;

export type OperationName = keyof typeof table;
/** The operations whose rows have these values. */
type NamesWith<Row> = {
  [Name in OperationName]: (typeof table)[Name] extends Row ? Name : never;
}[OperationName];

export type ReadName = NamesWith<{ effect: 'read' }>;
export type WriteName = NamesWith<{ effect: 'write' }>;
/** The six operations without parameters and body, each a GET that changes state (docs/service-api.md, section 4.4). */
export type WorkflowOperation = NamesWith<{ graphql: 'Mutation.workflowAction' }>;

/** What the service responds to each operation, decoded. */
export type Responses = {
  [Name in OperationName]: ReturnType<(typeof table)[Name]['decode']>;
};

/** The table, typed by operation. */
export const operations: { readonly [Name in OperationName]: Operation<Responses[Name]> } = table;

/** Creates a value for each operation. */
export function perOperation<Value>(
  create: (name: OperationName) => Value,
): Record<OperationName, Value> {
  const names = Object.keys(operations) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, create(name)])) as Record<
    OperationName,
    Value
  >;
}

/** A call of an operation. */
export type UpstreamRequest<Name extends OperationName = OperationName> = {
  readonly operation: Name;
  /** The query string, including the question mark. */
  readonly search?: string | undefined;
  /** JSON text. */
  readonly body?: string | undefined;
};

export type WriteRequest<Name extends WriteName = WriteName> = UpstreamRequest<Name> & {
  /** The response name of the mutation field, which is part of the claim on an idempotency key. */
  readonly responseName: string;
  /** The id of that claim, for the log. */
  readonly claimId?: string;
  /** The rest of the deadline, if the write waited for an earlier request, in milliseconds. */
  readonly timeoutMs?: number;
};

/** The read that probes an open circuit before a write is sent (docs/decisions/0005). */
export const probeRequest: UpstreamRequest<ReadName> = {
  operation: 'getGLCodes5',
  search: '?target=-1&project=&includeHide=false',
};
