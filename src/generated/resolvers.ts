import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { GlCodeEntity } from '../resolvers/gl-code.ts';
import type { Context } from '../graphql/request-context.ts';
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /**
   * An upload option: an integer in 1 to 27, 30, 31, 99, 101 to 160, 208 to 360, 369 to 421, 423 to 454,
   * 461 to 500, or -6 to -1. The service does not document what the values mean.
   */
  WorkflowCsvOption: { input: number; output: number; }
  _FieldSet: { input: string; output: string; }
};

/**
 * An approver. All fields are optional. The gateway does not send a field that is missing, and sends a field that is
 * null as null. A text has at most 1,000 characters.
 */
export type ApproverInput = {
  /** The approver's identifier, an integer of up to 1,000 digits. Send it as a text. */
  approverId?: InputMaybe<Scalars['ID']['input']>;
  /**
   * The claim limit. The gateway rejects a number that a double cannot represent exactly. A router of a federated graph
   * may round such a number before the gateway sees it.
   */
  claimLimit?: InputMaybe<Scalars['Float']['input']>;
  /** A description. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** The approver's email address. */
  email?: InputMaybe<Scalars['String']['input']>;
  /** The email address for uploads. */
  emailUpload?: InputMaybe<Scalars['String']['input']>;
  /** Whether approval is disabled. */
  isDisableApproval?: InputMaybe<Scalars['Boolean']['input']>;
  /** Whether the approver is for expense claims. */
  isExpenseClaim?: InputMaybe<Scalars['Boolean']['input']>;
  /** The service's `my_bank_account`. */
  myBankAccount?: InputMaybe<Scalars['String']['input']>;
  /** The service's `my_email`. */
  myEmail?: InputMaybe<Scalars['String']['input']>;
  /** The approver's name. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** The workflow's identifier, an integer of up to 1,000 digits. Send it as a text. */
  workflowId?: InputMaybe<Scalars['ID']['input']>;
  /** The workflow's name. */
  workflowName?: InputMaybe<Scalars['String']['input']>;
};

/** The approvers were saved (status 0, OK). */
export type ApproversSaved = LedgerStatus & {
  __typename?: 'ApproversSaved';
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
};

/**
 * A general-ledger code of a project for an integration target.
 *
 * In a federated graph, this is an entity. A reference has its `id`, or its `target`, `project` and `code`. A code
 * with a hide mark is found, too. A reference resolves to null if the service does not list its code, or lists it more
 * than once, and if its `id` or `code` is null, or its code is empty. Because codes with a hide mark count, too, an `id` that
 * `glCodes` returned without them resolves to null if the service also lists its code with a hide mark.
 */
export type GlCode = {
  __typename?: 'GlCode';
  /** The code. It is null if the service lists an entry without a code. */
  code: Maybe<Scalars['String']['output']>;
  /** The hide mark of the service, which does not document what its values mean. */
  hide: Maybe<Scalars['Int']['output']>;
  /**
   * A stable identifier, such as `5/north-plant/4010`: the integer of the target, the project and the code, joined by
   * `/`. Project and code are percent-encoded as by `encodeURIComponent`. An identifier belongs to one row: it is null if
   * the list has the code more than once, and if the code is null, empty or not well-formed Unicode. The list is the one that was
   * requested: without `includeHide`, codes with a hide mark do not count.
   */
  id: Maybe<Scalars['ID']['output']>;
  /** The name of the code. */
  name: Maybe<Scalars['String']['output']>;
  /** The project that was requested. */
  project: Scalars['String']['output'];
  /** The integration target that was requested. */
  target: IntegrationTarget;
  /** The value of the code. */
  value: Maybe<Scalars['String']['output']>;
};

/** The general-ledger codes (status 0, OK). */
export type GlCodeList = LedgerStatus & {
  __typename?: 'GlCodeList';
  /** The codes, in the order of `orderBy`. The list is also empty if the service returns no list. */
  codes: Array<GlCode>;
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
  /** How many codes match `only`, `search` and `codePrefix`, whatever `skip` and `first` are. */
  totalCount: Scalars['Int']['output'];
};

/**
 * How `glCodes` sorts codes. Codes that are equal stay in the order of the service. Blanks at the ends of a text do not matter,
 * and only the first 1,000 characters of it are compared.
 */
export const GlCodeOrder = {
  /** By code. Numbers in codes are compared as numbers. Rows without a code come last. */
  CODE: 'CODE',
  /** By name, as the Unicode Collation Algorithm sorts texts. Numbers are compared as numbers. Rows without a name come last. */
  NAME: 'NAME',
  /**
   * The order of the service. With a `search`, the code that is its text comes first, then a code that is one of its words,
   * then the codes that begin with the text, those that begin with one of its words, and then the others. Punctuation and
   * blanks do not matter, but of equal codes, those that are written as in the text come first.
   */
  SERVICE: 'SERVICE'
} as const;

export type GlCodeOrder = typeof GlCodeOrder[keyof typeof GlCodeOrder];
/** The outcome of `glCodes`. */
export type GlCodesResult = GlCodeList | LedgerFailed | LedgerNoMoreInvoices | LedgerNotPermitted | LedgerUnrecognizedStatus;

/**
 * The system that general-ledger codes are for. `TARGET_n` is the external system with the value n. The documentation
 * of the service does not name these systems.
 */
export const IntegrationTarget = {
  /** Custom workflow (value 10). */
  CUSTOM_WORKFLOW: 10,
  /** Electronic invoice (value 22). */
  ELECTRONIC_INVOICE: 22,
  /** Email (value 5). */
  EMAIL: 5,
  /** File transfer (value 4). */
  FILE_TRANSFER: 4,
  /** Gateway (value 6). */
  GATEWAY: 6,
  /** Save and search (value 36). */
  SAVE_AND_SEARCH: 36,
  /** Storage device (value 4001). */
  STORAGE_DEVICE: 4001,
  /** External system 0. */
  TARGET_0: 0,
  /** External system 1. */
  TARGET_1: 1,
  /** External system 2. */
  TARGET_2: 2,
  /** External system 3. */
  TARGET_3: 3,
  /** External system 7. */
  TARGET_7: 7,
  /** External system 8. */
  TARGET_8: 8,
  /** External system 9. */
  TARGET_9: 9,
  /** External system 11. */
  TARGET_11: 11,
  /** External system 12. */
  TARGET_12: 12,
  /** External system 20. */
  TARGET_20: 20,
  /** External system 21. */
  TARGET_21: 21,
  /** External system 23. */
  TARGET_23: 23,
  /** External system 24. */
  TARGET_24: 24,
  /** External system 26. */
  TARGET_26: 26,
  /** External system 27. */
  TARGET_27: 27,
  /** External system 33. */
  TARGET_33: 33,
  /** External system 34. */
  TARGET_34: 34,
  /** External system 35. */
  TARGET_35: 35,
  /** External system 37. */
  TARGET_37: 37,
  /** External system 38. */
  TARGET_38: 38,
  /** External system 39. */
  TARGET_39: 39,
  /** External system 40. */
  TARGET_40: 40,
  /** External system 41. */
  TARGET_41: 41,
  /** External system 42. */
  TARGET_42: 42,
  /** External system 43. */
  TARGET_43: 43,
  /** External system 44. */
  TARGET_44: 44,
  /** External system 45. */
  TARGET_45: 45,
  /** External system 46. */
  TARGET_46: 46,
  /** External system 47. */
  TARGET_47: 47,
  /** External system 48. */
  TARGET_48: 48,
  /** External system 49. */
  TARGET_49: 49,
  /** External system 50. */
  TARGET_50: 50,
  /** External system 51. */
  TARGET_51: 51,
  /** Unknown (value -1). */
  UNKNOWN: -1
} as const;

export type IntegrationTarget = typeof IntegrationTarget[keyof typeof IntegrationTarget];
/** The service could not complete the operation (status 1, FAILED). */
export type LedgerFailed = LedgerProblem & LedgerStatus & {
  __typename?: 'LedgerFailed';
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
};

/** The service reported that there are no more invoices (status 2, NO_MORE_INVOICES). */
export type LedgerNoMoreInvoices = LedgerProblem & LedgerStatus & {
  __typename?: 'LedgerNoMoreInvoices';
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
};

/** The service does not permit the operation (status 3, NOT_PERMITTED). */
export type LedgerNotPermitted = LedgerProblem & LedgerStatus & {
  __typename?: 'LedgerNotPermitted';
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
};

/**
 * The write may have reached the service, but the gateway does not know the outcome: the write may or may not have
 * taken effect. The gateway does not send it again. Before you send it with a new idempotency key, check in the service
 * what was done.
 */
export type LedgerOutcomeUnknown = LedgerProblem & {
  __typename?: 'LedgerOutcomeUnknown';
  /** Why the outcome is unknown. */
  code: LedgerOutcomeUnknownCode;
  /** A description of what happened. */
  message: Maybe<Scalars['String']['output']>;
  /**
   * The id of the request. Quote it when you ask the operators of the gateway. If the outcome was recorded for an earlier
   * request with the same idempotency key, it is the id of that one.
   */
  requestId: Scalars['ID']['output'];
};

/** Why the outcome of a write is unknown. */
export const LedgerOutcomeUnknownCode = {
  /**
   * The write of an earlier request with the same idempotency key is in flight. Its outcome is not recorded yet. To learn
   * it, send the same request again, with the same key.
   */
  IN_PROGRESS: 'IN_PROGRESS',
  /**
   * The write of an earlier request with the same idempotency key may have been sent, but no outcome was recorded in
   * time: the gateway stopped, the request took too long, or the gateway lost the record. If the outcome is recorded
   * later, the same request with the same key returns it. The gateway does not send the write with this key again.
   */
  ORPHANED: 'ORPHANED',
  /** The service responded with the HTTP status 408 or 5xx, or with a 4xx that is not registered for HTTP. */
  UPSTREAM_FAILED: 'UPSTREAM_FAILED',
  /** The service responded with a redirect, or with something that is incomplete, unreadable, contradictory or too large. Or a cache responded in its place. */
  UPSTREAM_INVALID_RESPONSE: 'UPSTREAM_INVALID_RESPONSE',
  /** The service did not respond in time. */
  UPSTREAM_TIMEOUT: 'UPSTREAM_TIMEOUT',
  /** The connection to the service failed before a response began. */
  UPSTREAM_UNAVAILABLE: 'UPSTREAM_UNAVAILABLE'
} as const;

export type LedgerOutcomeUnknownCode = typeof LedgerOutcomeUnknownCode[keyof typeof LedgerOutcomeUnknownCode];
/** An outcome other than success. Select `... on LedgerProblem` to handle all such outcomes in one place. */
export type LedgerProblem = {
  /** The message of the service. If the outcome is unknown, it is a message of the gateway. */
  message: Maybe<Scalars['String']['output']>;
};

/** The fields of every outcome that the gateway reads from a status record of the service. */
export type LedgerStatus = {
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
};

/** The service returned a status that it does not document. It is not known whether the operation succeeded. */
export type LedgerUnrecognizedStatus = LedgerProblem & LedgerStatus & {
  __typename?: 'LedgerUnrecognizedStatus';
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
  /** The status that the service returned. It is null if the status is missing, is neither an integer nor the text of one, or has more than 32 bits. */
  status: Maybe<Scalars['Int']['output']>;
};

/**
 * All writes. Each root field sends at most one write to the service. A write is never retried, shared or cached.
 *
 * A root field returns a union that describes the outcome of its write. `LedgerOutcomeUnknown` means that the write
 * may have reached the service, and that the gateway does not know the outcome. An entry in `errors` with the path of
 * a root field means that this request did nothing in this field. It says nothing about earlier requests.
 *
 * Send a new random key in the header `Idempotency-Key` with each mutation. If you repeat the mutation with the same
 * key, the gateway does not send the write again: it returns the outcome of the first request. Without a key, a
 * mutation that is repeated because its connection broke may take effect twice.
 *
 * Send the header `Idempotency-Key-Age` as well: how many milliseconds ago you sent the first request with this key.
 * Proxies may remove these headers. So send both values in the body, too, as `idempotencyKey` and `idempotencyKeyAge` in
 * `extensions`. Either place is enough. If they differ, the error is `BAD_USER_INPUT`, and nothing is sent.
 *
 * The age is 0 only if there was no earlier request with this key, or if the first one was sent less than 30 s ago and every
 * field of every earlier one was an error with a `requestId`. An error without one proves nothing: it comes from a
 * router, or from a fault in the gateway. A repeat with a larger age is never executed twice, even if the gateway has lost its records.
 *
 * If a repeat returns an error, the first request may still have taken effect. To learn its outcome, repeat the request
 * with the same key. Or use `settleWrites`, which sends nothing to the service.
 */
export type Mutation = {
  __typename?: 'Mutation';
  /** Saves a list of approvers in one request to the service. */
  saveApprovers: Maybe<SaveApproversResult>;
  /**
   * Closes an idempotency key, and returns the outcome of each field that was executed with it by this caller. It sends
   * nothing to the service.
   *
   * From then on, nothing new is executed with the key. A repeat of a field in the result still returns its outcome. Any
   * other field gets the error `IDEMPOTENCY_KEY_SETTLED` if `isComplete` was true, and otherwise
   * `LedgerOutcomeUnknown` with the code `ORPHANED`. If you settle the key again, the result also has the outcomes
   * that were recorded in the meantime.
   */
  settleWrites: Maybe<SettledWrites>;
  /** Updates a workflow from a CSV file. */
  uploadWorkflowCsv: Maybe<UploadWorkflowCsvResult>;
  /** Restarts or restores a workflow or solution, updates the solution guide, or upgrades the account. */
  workflowAction: Maybe<WorkflowActionResult>;
};


/**
 * All writes. Each root field sends at most one write to the service. A write is never retried, shared or cached.
 *
 * A root field returns a union that describes the outcome of its write. `LedgerOutcomeUnknown` means that the write
 * may have reached the service, and that the gateway does not know the outcome. An entry in `errors` with the path of
 * a root field means that this request did nothing in this field. It says nothing about earlier requests.
 *
 * Send a new random key in the header `Idempotency-Key` with each mutation. If you repeat the mutation with the same
 * key, the gateway does not send the write again: it returns the outcome of the first request. Without a key, a
 * mutation that is repeated because its connection broke may take effect twice.
 *
 * Send the header `Idempotency-Key-Age` as well: how many milliseconds ago you sent the first request with this key.
 * Proxies may remove these headers. So send both values in the body, too, as `idempotencyKey` and `idempotencyKeyAge` in
 * `extensions`. Either place is enough. If they differ, the error is `BAD_USER_INPUT`, and nothing is sent.
 *
 * The age is 0 only if there was no earlier request with this key, or if the first one was sent less than 30 s ago and every
 * field of every earlier one was an error with a `requestId`. An error without one proves nothing: it comes from a
 * router, or from a fault in the gateway. A repeat with a larger age is never executed twice, even if the gateway has lost its records.
 *
 * If a repeat returns an error, the first request may still have taken effect. To learn its outcome, repeat the request
 * with the same key. Or use `settleWrites`, which sends nothing to the service.
 */
export type MutationSaveApproversArgs = {
  approvers: Array<ApproverInput>;
};


/**
 * All writes. Each root field sends at most one write to the service. A write is never retried, shared or cached.
 *
 * A root field returns a union that describes the outcome of its write. `LedgerOutcomeUnknown` means that the write
 * may have reached the service, and that the gateway does not know the outcome. An entry in `errors` with the path of
 * a root field means that this request did nothing in this field. It says nothing about earlier requests.
 *
 * Send a new random key in the header `Idempotency-Key` with each mutation. If you repeat the mutation with the same
 * key, the gateway does not send the write again: it returns the outcome of the first request. Without a key, a
 * mutation that is repeated because its connection broke may take effect twice.
 *
 * Send the header `Idempotency-Key-Age` as well: how many milliseconds ago you sent the first request with this key.
 * Proxies may remove these headers. So send both values in the body, too, as `idempotencyKey` and `idempotencyKeyAge` in
 * `extensions`. Either place is enough. If they differ, the error is `BAD_USER_INPUT`, and nothing is sent.
 *
 * The age is 0 only if there was no earlier request with this key, or if the first one was sent less than 30 s ago and every
 * field of every earlier one was an error with a `requestId`. An error without one proves nothing: it comes from a
 * router, or from a fault in the gateway. A repeat with a larger age is never executed twice, even if the gateway has lost its records.
 *
 * If a repeat returns an error, the first request may still have taken effect. To learn its outcome, repeat the request
 * with the same key. Or use `settleWrites`, which sends nothing to the service.
 */
export type MutationSettleWritesArgs = {
  ageMs?: InputMaybe<Scalars['Float']['input']>;
  idempotencyKey: Scalars['String']['input'];
};


/**
 * All writes. Each root field sends at most one write to the service. A write is never retried, shared or cached.
 *
 * A root field returns a union that describes the outcome of its write. `LedgerOutcomeUnknown` means that the write
 * may have reached the service, and that the gateway does not know the outcome. An entry in `errors` with the path of
 * a root field means that this request did nothing in this field. It says nothing about earlier requests.
 *
 * Send a new random key in the header `Idempotency-Key` with each mutation. If you repeat the mutation with the same
 * key, the gateway does not send the write again: it returns the outcome of the first request. Without a key, a
 * mutation that is repeated because its connection broke may take effect twice.
 *
 * Send the header `Idempotency-Key-Age` as well: how many milliseconds ago you sent the first request with this key.
 * Proxies may remove these headers. So send both values in the body, too, as `idempotencyKey` and `idempotencyKeyAge` in
 * `extensions`. Either place is enough. If they differ, the error is `BAD_USER_INPUT`, and nothing is sent.
 *
 * The age is 0 only if there was no earlier request with this key, or if the first one was sent less than 30 s ago and every
 * field of every earlier one was an error with a `requestId`. An error without one proves nothing: it comes from a
 * router, or from a fault in the gateway. A repeat with a larger age is never executed twice, even if the gateway has lost its records.
 *
 * If a repeat returns an error, the first request may still have taken effect. To learn its outcome, repeat the request
 * with the same key. Or use `settleWrites`, which sends nothing to the service.
 */
export type MutationUploadWorkflowCsvArgs = {
  input: WorkflowCsvInput;
};


/**
 * All writes. Each root field sends at most one write to the service. A write is never retried, shared or cached.
 *
 * A root field returns a union that describes the outcome of its write. `LedgerOutcomeUnknown` means that the write
 * may have reached the service, and that the gateway does not know the outcome. An entry in `errors` with the path of
 * a root field means that this request did nothing in this field. It says nothing about earlier requests.
 *
 * Send a new random key in the header `Idempotency-Key` with each mutation. If you repeat the mutation with the same
 * key, the gateway does not send the write again: it returns the outcome of the first request. Without a key, a
 * mutation that is repeated because its connection broke may take effect twice.
 *
 * Send the header `Idempotency-Key-Age` as well: how many milliseconds ago you sent the first request with this key.
 * Proxies may remove these headers. So send both values in the body, too, as `idempotencyKey` and `idempotencyKeyAge` in
 * `extensions`. Either place is enough. If they differ, the error is `BAD_USER_INPUT`, and nothing is sent.
 *
 * The age is 0 only if there was no earlier request with this key, or if the first one was sent less than 30 s ago and every
 * field of every earlier one was an error with a `requestId`. An error without one proves nothing: it comes from a
 * router, or from a fault in the gateway. A repeat with a larger age is never executed twice, even if the gateway has lost its records.
 *
 * If a repeat returns an error, the first request may still have taken effect. To learn its outcome, repeat the request
 * with the same key. Or use `settleWrites`, which sends nothing to the service.
 */
export type MutationWorkflowActionArgs = {
  action: WorkflowAction;
};

/** All reads. A query never changes anything in the service. */
export type Query = {
  __typename?: 'Query';
  /**
   * Returns the general-ledger codes of a project for an integration target.
   *
   * Without the last six arguments, the result is the whole list in the order of the service. `only`, `search` and
   * `codePrefix` filter the list, and `orderBy` sorts it. Then `skip` and `first` select a page of what is left. The
   * gateway does this, because the service always returns the whole list: a page makes the response for the client
   * smaller, but saves no work of the service. Fields of one GraphQL operation that differ only in these six
   * arguments share a single request to the service.
   */
  glCodes: Maybe<GlCodesResult>;
};


/** All reads. A query never changes anything in the service. */
export type QueryGlCodesArgs = {
  codePrefix?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  includeHide: Scalars['Boolean']['input'];
  only?: InputMaybe<Array<Scalars['String']['input']>>;
  orderBy: GlCodeOrder;
  project: Scalars['String']['input'];
  search?: InputMaybe<Scalars['String']['input']>;
  skip: Scalars['Int']['input'];
  target: IntegrationTarget;
};

/** The outcome of `saveApprovers`. */
export type SaveApproversResult = ApproversSaved | LedgerFailed | LedgerNoMoreInvoices | LedgerNotPermitted | LedgerOutcomeUnknown | LedgerUnrecognizedStatus;

/** The outcome of one field that was executed with an idempotency key. */
export type SettledWrite = {
  __typename?: 'SettledWrite';
  /** The outcome. While there is none, it is `LedgerOutcomeUnknown` with the code `IN_PROGRESS`. */
  outcome: WriteOutcome;
  /** The response name of the field: its alias, or its name if it has no alias. */
  responseName: Scalars['String']['output'];
};

/** What was executed with an idempotency key, and whether that is all. */
export type SettledWrites = {
  __typename?: 'SettledWrites';
  /**
   * Whether `writes` has everything that can have been executed with the key. It is false if `ageMs` is missing, or if
   * the gateway may have lost records from the time of the first request. Then a write may have taken effect that is not
   * in the list.
   */
  isComplete: Scalars['Boolean']['output'];
  /**
   * Whether this request itself carried the key, in the header `Idempotency-Key` or as `idempotencyKey` in the `extensions`
   * of its body. Send it in the way in which you send writes. If it is false although you sent the key, a proxy or router
   * between you and the gateway removes keys. A write may then have been executed without its key, so an empty list does
   * not mean that nothing was done.
   */
  keyArrived: Scalars['Boolean']['output'];
  /**
   * The fields that were executed with the key, or may have been. If the list is empty and `isComplete` is true,
   * nothing was executed with the key, and nothing ever will be.
   */
  writes: Array<SettledWrite>;
};

/** The outcome of `uploadWorkflowCsv`. */
export type UploadWorkflowCsvResult = LedgerFailed | LedgerNoMoreInvoices | LedgerNotPermitted | LedgerOutcomeUnknown | LedgerUnrecognizedStatus | WorkflowCsvUploaded;

/** An action on a workflow, a solution or an account. */
export const WorkflowAction = {
  /** Restart the workflow (`restartWorkflow2`). */
  RESTART: 'RESTART',
  /** Restart the workflow and move to the next one (`restartWorkflowAndMoveToNext`). */
  RESTART_AND_MOVE_TO_NEXT: 'RESTART_AND_MOVE_TO_NEXT',
  /** Restore the global solution (`reStoreGlobalSolution`). */
  RESTORE_GLOBAL_SOLUTION: 'RESTORE_GLOBAL_SOLUTION',
  /** Restore the solution (`reStoreSolution`). */
  RESTORE_SOLUTION: 'RESTORE_SOLUTION',
  /** Update the solution guide (`updateSolutionGuide`). */
  UPDATE_SOLUTION_GUIDE: 'UPDATE_SOLUTION_GUIDE',
  /** Upgrade to HQ (`upgradeToHQ`). */
  UPGRADE_TO_HQ: 'UPGRADE_TO_HQ'
} as const;

export type WorkflowAction = typeof WorkflowAction[keyof typeof WorkflowAction];
/** The workflow action was completed (status 0, OK). */
export type WorkflowActionCompleted = LedgerStatus & {
  __typename?: 'WorkflowActionCompleted';
  /** The completed action. */
  action: WorkflowAction;
  /** The service's `invoice_id`, an integer of any size, or a text if the service writes one. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. */
  message: Maybe<Scalars['String']['output']>;
};

/** The outcome of `workflowAction`. */
export type WorkflowActionResult = LedgerFailed | LedgerNoMoreInvoices | LedgerNotPermitted | LedgerOutcomeUnknown | LedgerUnrecognizedStatus | WorkflowActionCompleted;

/** A CSV file for a workflow. Provide its content in exactly one of the fields `csv` and `contentBase64`. */
export type WorkflowCsvInput = {
  /**
   * The content in base64 (RFC 4648, section 4), with padding and without line breaks. At most 16,777,216 characters,
   * which is the base64 of 12 MiB.
   */
  contentBase64?: InputMaybe<Scalars['String']['input']>;
  /** The content as text. At most 16,777,216 characters. The gateway sends it as UTF-8 in base64. */
  csv?: InputMaybe<Scalars['String']['input']>;
  /** The name of the file. At most 255 characters. */
  fileName: Scalars['String']['input'];
  /** The identifier of the invoice, an integer of up to 1,000 digits. Send it as a text. */
  invoiceId?: InputMaybe<Scalars['ID']['input']>;
  /** A message that is sent with the file. At most 10,000 characters. */
  message?: InputMaybe<Scalars['String']['input']>;
  /**
   * The upload option of the service. The gateway rejects it with `BAD_USER_INPUT` unless it is configured for upload
   * options.
   */
  option?: InputMaybe<Scalars['WorkflowCsvOption']['input']>;
};

/** The service accepted the workflow CSV. */
export type WorkflowCsvUploaded = {
  __typename?: 'WorkflowCsvUploaded';
  /** The service's `invoice_id`, an integer of any size. It is null if there is no status record. */
  invoiceId: Maybe<Scalars['ID']['output']>;
  /** The message in the status record. It is null if there is no status record. */
  message: Maybe<Scalars['String']['output']>;
  /** What the service could not resolve, as text, or as JSON if it is no text. It is null if the service responded with a status record alone. */
  unresolved: Maybe<Scalars['String']['output']>;
};

/** The outcome of any write. */
export type WriteOutcome = ApproversSaved | LedgerFailed | LedgerNoMoreInvoices | LedgerNotPermitted | LedgerOutcomeUnknown | LedgerUnrecognizedStatus | WorkflowActionCompleted | WorkflowCsvUploaded;



export type ResolverTypeWrapper<T> = Promise<T> | T;

export type ReferenceResolver<TResult, TReference, TContext> = (
      reference: TReference,
      context: TContext,
      info: GraphQLResolveInfo
    ) => Promise<TResult> | TResult;

      type ScalarCheck<T, S> = S extends true ? T : NullableCheck<T, S>;
      type NullableCheck<T, S> = Maybe<T> extends T ? Maybe<ListCheck<NonNullable<T>, S>> : ListCheck<T, S>;
      type ListCheck<T, S> = T extends (infer U)[] ? NullableCheck<U, S>[] : GraphQLRecursivePick<T, S>;
      export type GraphQLRecursivePick<T, S> = { [K in keyof T & keyof S]: ScalarCheck<T[K], S[K]> };
    

export type ResolverWithResolve<TResult, TParent, TContext, TArgs> = {
  resolve: ResolverFn<TResult, TParent, TContext, TArgs>;
};
export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs> | ResolverWithResolve<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Maybe<TTypes> | Promise<Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

/** Mapping of federation types */
export type FederationTypes = {
  GlCode: GlCode;
};

/** Mapping of federation reference types */
export type FederationReferenceTypes = {
  GlCode:
    ( { __typename: 'GlCode' }
    & ( GraphQLRecursivePick<FederationTypes['GlCode'], {"target":true,"project":true,"code":true}>
        | GraphQLRecursivePick<FederationTypes['GlCode'], {"id":true}> ) );
};

/** Mapping of union types */
export type ResolversUnionTypes<_RefType extends Record<string, unknown>> = {
  GlCodesResult:
    | ( Omit<GlCodeList, 'codes'> & { codes: Array<_RefType['GlCode']> } & { __typename: 'GlCodeList' } )
    | ( LedgerFailed & { __typename: 'LedgerFailed' } )
    | ( LedgerNoMoreInvoices & { __typename: 'LedgerNoMoreInvoices' } )
    | ( LedgerNotPermitted & { __typename: 'LedgerNotPermitted' } )
    | ( LedgerUnrecognizedStatus & { __typename: 'LedgerUnrecognizedStatus' } )
  ;
  SaveApproversResult:
    | ( ApproversSaved & { __typename: 'ApproversSaved' } )
    | ( LedgerFailed & { __typename: 'LedgerFailed' } )
    | ( LedgerNoMoreInvoices & { __typename: 'LedgerNoMoreInvoices' } )
    | ( LedgerNotPermitted & { __typename: 'LedgerNotPermitted' } )
    | ( LedgerOutcomeUnknown & { __typename: 'LedgerOutcomeUnknown' } )
    | ( LedgerUnrecognizedStatus & { __typename: 'LedgerUnrecognizedStatus' } )
  ;
  UploadWorkflowCsvResult:
    | ( LedgerFailed & { __typename: 'LedgerFailed' } )
    | ( LedgerNoMoreInvoices & { __typename: 'LedgerNoMoreInvoices' } )
    | ( LedgerNotPermitted & { __typename: 'LedgerNotPermitted' } )
    | ( LedgerOutcomeUnknown & { __typename: 'LedgerOutcomeUnknown' } )
    | ( LedgerUnrecognizedStatus & { __typename: 'LedgerUnrecognizedStatus' } )
    | ( WorkflowCsvUploaded & { __typename: 'WorkflowCsvUploaded' } )
  ;
  WorkflowActionResult:
    | ( LedgerFailed & { __typename: 'LedgerFailed' } )
    | ( LedgerNoMoreInvoices & { __typename: 'LedgerNoMoreInvoices' } )
    | ( LedgerNotPermitted & { __typename: 'LedgerNotPermitted' } )
    | ( LedgerOutcomeUnknown & { __typename: 'LedgerOutcomeUnknown' } )
    | ( LedgerUnrecognizedStatus & { __typename: 'LedgerUnrecognizedStatus' } )
    | ( WorkflowActionCompleted & { __typename: 'WorkflowActionCompleted' } )
  ;
  WriteOutcome:
    | ( ApproversSaved & { __typename: 'ApproversSaved' } )
    | ( LedgerFailed & { __typename: 'LedgerFailed' } )
    | ( LedgerNoMoreInvoices & { __typename: 'LedgerNoMoreInvoices' } )
    | ( LedgerNotPermitted & { __typename: 'LedgerNotPermitted' } )
    | ( LedgerOutcomeUnknown & { __typename: 'LedgerOutcomeUnknown' } )
    | ( LedgerUnrecognizedStatus & { __typename: 'LedgerUnrecognizedStatus' } )
    | ( WorkflowActionCompleted & { __typename: 'WorkflowActionCompleted' } )
    | ( WorkflowCsvUploaded & { __typename: 'WorkflowCsvUploaded' } )
  ;
};

/** Mapping of interface types */
export type ResolversInterfaceTypes<_RefType extends Record<string, unknown>> = {
  LedgerProblem:
    | ( LedgerFailed & { __typename: 'LedgerFailed' } )
    | ( LedgerNoMoreInvoices & { __typename: 'LedgerNoMoreInvoices' } )
    | ( LedgerNotPermitted & { __typename: 'LedgerNotPermitted' } )
    | ( LedgerOutcomeUnknown & { __typename: 'LedgerOutcomeUnknown' } )
    | ( LedgerUnrecognizedStatus & { __typename: 'LedgerUnrecognizedStatus' } )
  ;
  LedgerStatus:
    | ( ApproversSaved & { __typename: 'ApproversSaved' } )
    | ( Omit<GlCodeList, 'codes'> & { codes: Array<_RefType['GlCode']> } & { __typename: 'GlCodeList' } )
    | ( LedgerFailed & { __typename: 'LedgerFailed' } )
    | ( LedgerNoMoreInvoices & { __typename: 'LedgerNoMoreInvoices' } )
    | ( LedgerNotPermitted & { __typename: 'LedgerNotPermitted' } )
    | ( LedgerUnrecognizedStatus & { __typename: 'LedgerUnrecognizedStatus' } )
    | ( WorkflowActionCompleted & { __typename: 'WorkflowActionCompleted' } )
  ;
};

/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  ApproverInput: ApproverInput;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  Float: ResolverTypeWrapper<Scalars['Float']['output']>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  ApproversSaved: ResolverTypeWrapper<ApproversSaved>;
  GlCode: ResolverTypeWrapper<GlCodeEntity>;
  GlCodeList: ResolverTypeWrapper<Omit<GlCodeList, 'codes'> & { codes: Array<ResolversTypes['GlCode']> }>;
  GlCodeOrder: GlCodeOrder;
  GlCodesResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['GlCodesResult']>;
  IntegrationTarget: null;
  LedgerFailed: ResolverTypeWrapper<LedgerFailed>;
  LedgerNoMoreInvoices: ResolverTypeWrapper<LedgerNoMoreInvoices>;
  LedgerNotPermitted: ResolverTypeWrapper<LedgerNotPermitted>;
  LedgerOutcomeUnknown: ResolverTypeWrapper<LedgerOutcomeUnknown>;
  LedgerOutcomeUnknownCode: LedgerOutcomeUnknownCode;
  LedgerProblem: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['LedgerProblem']>;
  LedgerStatus: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['LedgerStatus']>;
  LedgerUnrecognizedStatus: ResolverTypeWrapper<LedgerUnrecognizedStatus>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  SaveApproversResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['SaveApproversResult']>;
  SettledWrite: ResolverTypeWrapper<Omit<SettledWrite, 'outcome'> & { outcome: ResolversTypes['WriteOutcome'] }>;
  SettledWrites: ResolverTypeWrapper<Omit<SettledWrites, 'writes'> & { writes: Array<ResolversTypes['SettledWrite']> }>;
  UploadWorkflowCsvResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['UploadWorkflowCsvResult']>;
  WorkflowAction: WorkflowAction;
  WorkflowActionCompleted: ResolverTypeWrapper<WorkflowActionCompleted>;
  WorkflowActionResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['WorkflowActionResult']>;
  WorkflowCsvInput: WorkflowCsvInput;
  WorkflowCsvOption: ResolverTypeWrapper<Scalars['WorkflowCsvOption']['output']>;
  WorkflowCsvUploaded: ResolverTypeWrapper<WorkflowCsvUploaded>;
  WriteOutcome: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['WriteOutcome']>;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  ApproverInput: ApproverInput;
  ID: Scalars['ID']['output'];
  Float: Scalars['Float']['output'];
  String: Scalars['String']['output'];
  Boolean: Scalars['Boolean']['output'];
  ApproversSaved: ApproversSaved;
  GlCode: GlCodeEntity;
  GlCodeList: Omit<GlCodeList, 'codes'> & { codes: Array<ResolversParentTypes['GlCode']> };
  GlCodesResult: ResolversUnionTypes<ResolversParentTypes>['GlCodesResult'];
  LedgerFailed: LedgerFailed;
  LedgerNoMoreInvoices: LedgerNoMoreInvoices;
  LedgerNotPermitted: LedgerNotPermitted;
  LedgerOutcomeUnknown: LedgerOutcomeUnknown;
  LedgerProblem: ResolversInterfaceTypes<ResolversParentTypes>['LedgerProblem'];
  LedgerStatus: ResolversInterfaceTypes<ResolversParentTypes>['LedgerStatus'];
  LedgerUnrecognizedStatus: LedgerUnrecognizedStatus;
  Mutation: Record<PropertyKey, never>;
  Query: Record<PropertyKey, never>;
  SaveApproversResult: ResolversUnionTypes<ResolversParentTypes>['SaveApproversResult'];
  SettledWrite: Omit<SettledWrite, 'outcome'> & { outcome: ResolversParentTypes['WriteOutcome'] };
  SettledWrites: Omit<SettledWrites, 'writes'> & { writes: Array<ResolversParentTypes['SettledWrite']> };
  UploadWorkflowCsvResult: ResolversUnionTypes<ResolversParentTypes>['UploadWorkflowCsvResult'];
  WorkflowActionCompleted: WorkflowActionCompleted;
  WorkflowActionResult: ResolversUnionTypes<ResolversParentTypes>['WorkflowActionResult'];
  WorkflowCsvInput: WorkflowCsvInput;
  WorkflowCsvOption: Scalars['WorkflowCsvOption']['output'];
  WorkflowCsvUploaded: WorkflowCsvUploaded;
  WriteOutcome: ResolversUnionTypes<ResolversParentTypes>['WriteOutcome'];
  Int: Scalars['Int']['output'];
};

export type LimitDirectiveArgs = {
  characters?: Maybe<Scalars['Int']['input']>;
  items?: Maybe<Scalars['Int']['input']>;
};

export type LimitDirectiveResolver<Result, Parent, ContextType = Context, Args = LimitDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type ApproversSavedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ApproversSaved'] = ResolversParentTypes['ApproversSaved']> = {
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type GlCodeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['GlCode'] = ResolversParentTypes['GlCode'], FederationReferenceType extends FederationReferenceTypes['GlCode'] = FederationReferenceTypes['GlCode']> = {
  __resolveReference?: ReferenceResolver<Maybe<ResolversTypes['GlCode']> | FederationReferenceType, FederationReferenceType, ContextType>;
  code?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  hide?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  id?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  project?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  target?: Resolver<ResolversTypes['IntegrationTarget'], ParentType, ContextType>;
  value?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type GlCodeListResolvers<ContextType = Context, ParentType extends ResolversParentTypes['GlCodeList'] = ResolversParentTypes['GlCodeList']> = {
  codes?: Resolver<Array<ResolversTypes['GlCode']>, ParentType, ContextType>;
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type GlCodesResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['GlCodesResult'] = ResolversParentTypes['GlCodesResult']> = {
  __resolveType: TypeResolveFn<'GlCodeList' | 'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerUnrecognizedStatus', ParentType, ContextType>;
};

export type IntegrationTargetResolvers = { CUSTOM_WORKFLOW: 10, ELECTRONIC_INVOICE: 22, EMAIL: 5, FILE_TRANSFER: 4, GATEWAY: 6, SAVE_AND_SEARCH: 36, STORAGE_DEVICE: 4001, TARGET_0?: 0, TARGET_1: 1, TARGET_2: 2, TARGET_3: 3, TARGET_7: 7, TARGET_8: 8, TARGET_9: 9, TARGET_11: 11, TARGET_12: 12, TARGET_20: 20, TARGET_21: 21, TARGET_23: 23, TARGET_24: 24, TARGET_26: 26, TARGET_27: 27, TARGET_33: 33, TARGET_34: 34, TARGET_35: 35, TARGET_37: 37, TARGET_38: 38, TARGET_39: 39, TARGET_40: 40, TARGET_41: 41, TARGET_42: 42, TARGET_43: 43, TARGET_44: 44, TARGET_45: 45, TARGET_46: 46, TARGET_47: 47, TARGET_48: 48, TARGET_49: 49, TARGET_50: 50, TARGET_51: 51, UNKNOWN: -1 };

export type LedgerFailedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LedgerFailed'] = ResolversParentTypes['LedgerFailed']> = {
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type LedgerNoMoreInvoicesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LedgerNoMoreInvoices'] = ResolversParentTypes['LedgerNoMoreInvoices']> = {
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type LedgerNotPermittedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LedgerNotPermitted'] = ResolversParentTypes['LedgerNotPermitted']> = {
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type LedgerOutcomeUnknownResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LedgerOutcomeUnknown'] = ResolversParentTypes['LedgerOutcomeUnknown']> = {
  code?: Resolver<ResolversTypes['LedgerOutcomeUnknownCode'], ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  requestId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type LedgerProblemResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LedgerProblem'] = ResolversParentTypes['LedgerProblem']> = {
  __resolveType: TypeResolveFn<'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerOutcomeUnknown' | 'LedgerUnrecognizedStatus', ParentType, ContextType>;
};

export type LedgerStatusResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LedgerStatus'] = ResolversParentTypes['LedgerStatus']> = {
  __resolveType: TypeResolveFn<'ApproversSaved' | 'GlCodeList' | 'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerUnrecognizedStatus' | 'WorkflowActionCompleted', ParentType, ContextType>;
};

export type LedgerUnrecognizedStatusResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LedgerUnrecognizedStatus'] = ResolversParentTypes['LedgerUnrecognizedStatus']> = {
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  saveApprovers?: Resolver<Maybe<ResolversTypes['SaveApproversResult']>, ParentType, ContextType, RequireFields<MutationSaveApproversArgs, 'approvers'>>;
  settleWrites?: Resolver<Maybe<ResolversTypes['SettledWrites']>, ParentType, ContextType, RequireFields<MutationSettleWritesArgs, 'idempotencyKey'>>;
  uploadWorkflowCsv?: Resolver<Maybe<ResolversTypes['UploadWorkflowCsvResult']>, ParentType, ContextType, RequireFields<MutationUploadWorkflowCsvArgs, 'input'>>;
  workflowAction?: Resolver<Maybe<ResolversTypes['WorkflowActionResult']>, ParentType, ContextType, RequireFields<MutationWorkflowActionArgs, 'action'>>;
};

export type QueryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  glCodes?: Resolver<Maybe<ResolversTypes['GlCodesResult']>, ParentType, ContextType, RequireFields<QueryGlCodesArgs, 'includeHide' | 'orderBy' | 'project' | 'skip' | 'target'>>;
};

export type SaveApproversResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SaveApproversResult'] = ResolversParentTypes['SaveApproversResult']> = {
  __resolveType: TypeResolveFn<'ApproversSaved' | 'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerOutcomeUnknown' | 'LedgerUnrecognizedStatus', ParentType, ContextType>;
};

export type SettledWriteResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SettledWrite'] = ResolversParentTypes['SettledWrite']> = {
  outcome?: Resolver<ResolversTypes['WriteOutcome'], ParentType, ContextType>;
  responseName?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type SettledWritesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SettledWrites'] = ResolversParentTypes['SettledWrites']> = {
  isComplete?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  keyArrived?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  writes?: Resolver<Array<ResolversTypes['SettledWrite']>, ParentType, ContextType>;
};

export type UploadWorkflowCsvResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['UploadWorkflowCsvResult'] = ResolversParentTypes['UploadWorkflowCsvResult']> = {
  __resolveType: TypeResolveFn<'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerOutcomeUnknown' | 'LedgerUnrecognizedStatus' | 'WorkflowCsvUploaded', ParentType, ContextType>;
};

export type WorkflowActionCompletedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowActionCompleted'] = ResolversParentTypes['WorkflowActionCompleted']> = {
  action?: Resolver<ResolversTypes['WorkflowAction'], ParentType, ContextType>;
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type WorkflowActionResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowActionResult'] = ResolversParentTypes['WorkflowActionResult']> = {
  __resolveType: TypeResolveFn<'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerOutcomeUnknown' | 'LedgerUnrecognizedStatus' | 'WorkflowActionCompleted', ParentType, ContextType>;
};

export interface WorkflowCsvOptionScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['WorkflowCsvOption'], any> {
  name: 'WorkflowCsvOption';
}

export type WorkflowCsvUploadedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowCsvUploaded'] = ResolversParentTypes['WorkflowCsvUploaded']> = {
  invoiceId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  unresolved?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type WriteOutcomeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WriteOutcome'] = ResolversParentTypes['WriteOutcome']> = {
  __resolveType: TypeResolveFn<'ApproversSaved' | 'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerOutcomeUnknown' | 'LedgerUnrecognizedStatus' | 'WorkflowActionCompleted' | 'WorkflowCsvUploaded', ParentType, ContextType>;
};

export type Resolvers<ContextType = Context> = {
  ApproversSaved?: ApproversSavedResolvers<ContextType>;
  GlCode?: GlCodeResolvers<ContextType>;
  GlCodeList?: GlCodeListResolvers<ContextType>;
  GlCodesResult?: GlCodesResultResolvers<ContextType>;
  IntegrationTarget?: IntegrationTargetResolvers;
  LedgerFailed?: LedgerFailedResolvers<ContextType>;
  LedgerNoMoreInvoices?: LedgerNoMoreInvoicesResolvers<ContextType>;
  LedgerNotPermitted?: LedgerNotPermittedResolvers<ContextType>;
  LedgerOutcomeUnknown?: LedgerOutcomeUnknownResolvers<ContextType>;
  LedgerProblem?: LedgerProblemResolvers<ContextType>;
  LedgerStatus?: LedgerStatusResolvers<ContextType>;
  LedgerUnrecognizedStatus?: LedgerUnrecognizedStatusResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  SaveApproversResult?: SaveApproversResultResolvers<ContextType>;
  SettledWrite?: SettledWriteResolvers<ContextType>;
  SettledWrites?: SettledWritesResolvers<ContextType>;
  UploadWorkflowCsvResult?: UploadWorkflowCsvResultResolvers<ContextType>;
  WorkflowActionCompleted?: WorkflowActionCompletedResolvers<ContextType>;
  WorkflowActionResult?: WorkflowActionResultResolvers<ContextType>;
  WorkflowCsvOption?: GraphQLScalarType;
  WorkflowCsvUploaded?: WorkflowCsvUploadedResolvers<ContextType>;
  WriteOutcome?: WriteOutcomeResolvers<ContextType>;
};

export type DirectiveResolvers<ContextType = Context> = {
  limit?: LimitDirectiveResolver<any, any, ContextType>;
};
