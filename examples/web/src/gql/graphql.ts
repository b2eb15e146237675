/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/**
 * An approver. All fields are optional. The gateway does not send a field that is missing, and sends a field that is
 * null as null. A text has at most 1,000 characters.
 */
export type ApproverInput = {
  /** The approver's identifier, an integer of up to 1,000 digits. Send it as a text. */
  approverId?: string | null | undefined;
  /**
   * The claim limit. The gateway rejects a number that a double cannot represent exactly. A router of a federated graph
   * may round such a number before the gateway sees it.
   */
  claimLimit?: number | null | undefined;
  /** A description. */
  description?: string | null | undefined;
  /** The approver's email address. */
  email?: string | null | undefined;
  /** The email address for uploads. */
  emailUpload?: string | null | undefined;
  /** Whether approval is disabled. */
  isDisableApproval?: boolean | null | undefined;
  /** Whether the approver is for expense claims. */
  isExpenseClaim?: boolean | null | undefined;
  /** The service's `my_bank_account`. */
  myBankAccount?: string | null | undefined;
  /** The service's `my_email`. */
  myEmail?: string | null | undefined;
  /** The approver's name. */
  name?: string | null | undefined;
  /** The workflow's identifier, an integer of up to 1,000 digits. Send it as a text. */
  workflowId?: string | null | undefined;
  /** The workflow's name. */
  workflowName?: string | null | undefined;
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
/**
 * The system that general-ledger codes are for. `TARGET_n` is the external system with the value n. The documentation
 * of the service does not name these systems.
 */
export const IntegrationTarget = {
  /** Custom workflow (value 10). */
  CUSTOM_WORKFLOW: 'CUSTOM_WORKFLOW',
  /** Electronic invoice (value 22). */
  ELECTRONIC_INVOICE: 'ELECTRONIC_INVOICE',
  /** Email (value 5). */
  EMAIL: 'EMAIL',
  /** File transfer (value 4). */
  FILE_TRANSFER: 'FILE_TRANSFER',
  /** Gateway (value 6). */
  GATEWAY: 'GATEWAY',
  /** Save and search (value 36). */
  SAVE_AND_SEARCH: 'SAVE_AND_SEARCH',
  /** Storage device (value 4001). */
  STORAGE_DEVICE: 'STORAGE_DEVICE',
  /** External system 0. */
  TARGET_0: 'TARGET_0',
  /** External system 1. */
  TARGET_1: 'TARGET_1',
  /** External system 2. */
  TARGET_2: 'TARGET_2',
  /** External system 3. */
  TARGET_3: 'TARGET_3',
  /** External system 7. */
  TARGET_7: 'TARGET_7',
  /** External system 8. */
  TARGET_8: 'TARGET_8',
  /** External system 9. */
  TARGET_9: 'TARGET_9',
  /** External system 11. */
  TARGET_11: 'TARGET_11',
  /** External system 12. */
  TARGET_12: 'TARGET_12',
  /** External system 20. */
  TARGET_20: 'TARGET_20',
  /** External system 21. */
  TARGET_21: 'TARGET_21',
  /** External system 23. */
  TARGET_23: 'TARGET_23',
  /** External system 24. */
  TARGET_24: 'TARGET_24',
  /** External system 26. */
  TARGET_26: 'TARGET_26',
  /** External system 27. */
  TARGET_27: 'TARGET_27',
  /** External system 33. */
  TARGET_33: 'TARGET_33',
  /** External system 34. */
  TARGET_34: 'TARGET_34',
  /** External system 35. */
  TARGET_35: 'TARGET_35',
  /** External system 37. */
  TARGET_37: 'TARGET_37',
  /** External system 38. */
  TARGET_38: 'TARGET_38',
  /** External system 39. */
  TARGET_39: 'TARGET_39',
  /** External system 40. */
  TARGET_40: 'TARGET_40',
  /** External system 41. */
  TARGET_41: 'TARGET_41',
  /** External system 42. */
  TARGET_42: 'TARGET_42',
  /** External system 43. */
  TARGET_43: 'TARGET_43',
  /** External system 44. */
  TARGET_44: 'TARGET_44',
  /** External system 45. */
  TARGET_45: 'TARGET_45',
  /** External system 46. */
  TARGET_46: 'TARGET_46',
  /** External system 47. */
  TARGET_47: 'TARGET_47',
  /** External system 48. */
  TARGET_48: 'TARGET_48',
  /** External system 49. */
  TARGET_49: 'TARGET_49',
  /** External system 50. */
  TARGET_50: 'TARGET_50',
  /** External system 51. */
  TARGET_51: 'TARGET_51',
  /** Unknown (value -1). */
  UNKNOWN: 'UNKNOWN'
} as const;

export type IntegrationTarget = typeof IntegrationTarget[keyof typeof IntegrationTarget];
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
/** A CSV file for a workflow. Provide its content in exactly one of the fields `csv` and `contentBase64`. */
export type WorkflowCsvInput = {
  /**
   * The content in base64 (RFC 4648, section 4), with padding and without line breaks. At most 16,777,216 characters,
   * which is the base64 of 12 MiB.
   */
  contentBase64?: string | null | undefined;
  /** The content as text. At most 16,777,216 characters. The gateway sends it as UTF-8 in base64. */
  csv?: string | null | undefined;
  /** The name of the file. At most 255 characters. */
  fileName: string;
  /** The identifier of the invoice, an integer of up to 1,000 digits. Send it as a text. */
  invoiceId?: string | null | undefined;
  /** A message that is sent with the file. At most 10,000 characters. */
  message?: string | null | undefined;
  /**
   * The upload option of the service. The gateway rejects it with `BAD_USER_INPUT` unless it is configured for upload
   * options.
   */
  option?: number | null | undefined;
};

export type GlCodesQueryVariables = Exact<{
  target: IntegrationTarget;
  project: string;
  includeHide: boolean;
  search: string;
  codePrefix: string;
  orderBy: GlCodeOrder;
  skip: number;
  first: number;
}>;


export type GlCodesQuery = { __typename: 'Query', glCodes:
    | { __typename: 'GlCodeList', totalCount: number, codes: Array<{ __typename: 'GlCode', code: string | null, name: string | null, value: string | null, hide: number | null }> }
    | { __typename: 'LedgerFailed', message: string | null }
    | { __typename: 'LedgerNoMoreInvoices', message: string | null }
    | { __typename: 'LedgerNotPermitted', message: string | null }
    | { __typename: 'LedgerUnrecognizedStatus', message: string | null }
   | null };

export type SaveApproversMutationVariables = Exact<{
  approvers: Array<ApproverInput> | ApproverInput;
}>;


export type SaveApproversMutation = { __typename: 'Mutation', saveApprovers:
    | { __typename: 'ApproversSaved', message: string | null }
    | { __typename: 'LedgerFailed', message: string | null }
    | { __typename: 'LedgerNoMoreInvoices', message: string | null }
    | { __typename: 'LedgerNotPermitted', message: string | null }
    | { __typename: 'LedgerOutcomeUnknown', message: string | null, code: LedgerOutcomeUnknownCode, requestId: string }
    | { __typename: 'LedgerUnrecognizedStatus', message: string | null }
   | null };

export type UploadWorkflowCsvMutationVariables = Exact<{
  input: WorkflowCsvInput;
}>;


export type UploadWorkflowCsvMutation = { __typename: 'Mutation', uploadWorkflowCsv:
    | { __typename: 'LedgerFailed', message: string | null }
    | { __typename: 'LedgerNoMoreInvoices', message: string | null }
    | { __typename: 'LedgerNotPermitted', message: string | null }
    | { __typename: 'LedgerOutcomeUnknown', message: string | null, code: LedgerOutcomeUnknownCode, requestId: string }
    | { __typename: 'LedgerUnrecognizedStatus', message: string | null }
    | { __typename: 'WorkflowCsvUploaded', unresolved: string | null, message: string | null }
   | null };

export type WorkflowActionMutationVariables = Exact<{
  action: WorkflowAction;
}>;


export type WorkflowActionMutation = { __typename: 'Mutation', workflowAction:
    | { __typename: 'LedgerFailed', message: string | null }
    | { __typename: 'LedgerNoMoreInvoices', message: string | null }
    | { __typename: 'LedgerNotPermitted', message: string | null }
    | { __typename: 'LedgerOutcomeUnknown', message: string | null, code: LedgerOutcomeUnknownCode, requestId: string }
    | { __typename: 'LedgerUnrecognizedStatus', message: string | null }
    | { __typename: 'WorkflowActionCompleted', action: WorkflowAction, invoiceId: string | null, message: string | null }
   | null };

export type SettleWritesMutationVariables = Exact<{
  ageMs?: number | null | undefined;
  idempotencyKey: string;
}>;


export type SettleWritesMutation = { __typename: 'Mutation', settleWrites: { __typename: 'SettledWrites', isComplete: boolean, keyArrived: boolean, writes: Array<{ __typename: 'SettledWrite', responseName: string, outcome:
        | { __typename: 'ApproversSaved', invoiceId: string | null, message: string | null }
        | { __typename: 'LedgerFailed', message: string | null, invoiceId: string | null }
        | { __typename: 'LedgerNoMoreInvoices', message: string | null, invoiceId: string | null }
        | { __typename: 'LedgerNotPermitted', message: string | null, invoiceId: string | null }
        | { __typename: 'LedgerOutcomeUnknown', code: LedgerOutcomeUnknownCode, requestId: string, message: string | null }
        | { __typename: 'LedgerUnrecognizedStatus', message: string | null, invoiceId: string | null, status: number | null }
        | { __typename: 'WorkflowActionCompleted', invoiceId: string | null, message: string | null, action: WorkflowAction }
        | { __typename: 'WorkflowCsvUploaded', invoiceId: string | null, message: string | null, unresolved: string | null }
       }> } | null };


export const GlCodesDocument = {"__meta__":{"hash":"sha256:912c0cb5c8a13702b6c361ffda092cdc02f2753e9d7f02e3a42a2b794ac73ed4"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"GlCodes"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"target"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"IntegrationTarget"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"project"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"includeHide"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Boolean"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"search"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"codePrefix"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"orderBy"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"GlCodeOrder"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"skip"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"first"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"glCodes"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"target"},"value":{"kind":"Variable","name":{"kind":"Name","value":"target"}}},{"kind":"Argument","name":{"kind":"Name","value":"project"},"value":{"kind":"Variable","name":{"kind":"Name","value":"project"}}},{"kind":"Argument","name":{"kind":"Name","value":"includeHide"},"value":{"kind":"Variable","name":{"kind":"Name","value":"includeHide"}}},{"kind":"Argument","name":{"kind":"Name","value":"search"},"value":{"kind":"Variable","name":{"kind":"Name","value":"search"}}},{"kind":"Argument","name":{"kind":"Name","value":"codePrefix"},"value":{"kind":"Variable","name":{"kind":"Name","value":"codePrefix"}}},{"kind":"Argument","name":{"kind":"Name","value":"orderBy"},"value":{"kind":"Variable","name":{"kind":"Name","value":"orderBy"}}},{"kind":"Argument","name":{"kind":"Name","value":"skip"},"value":{"kind":"Variable","name":{"kind":"Name","value":"skip"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"Variable","name":{"kind":"Name","value":"first"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"GlCodeList"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"totalCount"}},{"kind":"Field","name":{"kind":"Name","value":"codes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"value"}},{"kind":"Field","name":{"kind":"Name","value":"hide"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerProblem"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]} as unknown as DocumentNode<GlCodesQuery, GlCodesQueryVariables>;
export const SaveApproversDocument = {"__meta__":{"hash":"sha256:256d1118c23a4728b3cd06244feeb2cbd8520066223ea4d43506f12c30f4265b"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"SaveApprovers"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"approvers"}},"type":{"kind":"NonNullType","type":{"kind":"ListType","type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ApproverInput"}}}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"saveApprovers"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"approvers"},"value":{"kind":"Variable","name":{"kind":"Name","value":"approvers"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerStatus"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerProblem"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerOutcomeUnknown"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"requestId"}}]}}]}}]}}]} as unknown as DocumentNode<SaveApproversMutation, SaveApproversMutationVariables>;
export const UploadWorkflowCsvDocument = {"__meta__":{"hash":"sha256:066b49e3a7274e1940800670b588d372765a8669a2d932c2d5fea6d0398d5305"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"UploadWorkflowCsv"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"WorkflowCsvInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"uploadWorkflowCsv"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"WorkflowCsvUploaded"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"unresolved"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerProblem"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerOutcomeUnknown"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"requestId"}}]}}]}}]}}]} as unknown as DocumentNode<UploadWorkflowCsvMutation, UploadWorkflowCsvMutationVariables>;
export const WorkflowActionDocument = {"__meta__":{"hash":"sha256:8264bac45d9aa46c49c6012752ff725df99d91aa712d9235a9c4fe0f25c6ac55"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"WorkflowAction"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"action"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"WorkflowAction"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"workflowAction"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"action"},"value":{"kind":"Variable","name":{"kind":"Name","value":"action"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"WorkflowActionCompleted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"invoiceId"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerProblem"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerOutcomeUnknown"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"requestId"}}]}}]}}]}}]} as unknown as DocumentNode<WorkflowActionMutation, WorkflowActionMutationVariables>;
export const SettleWritesDocument = {"__meta__":{"hash":"sha256:fb571dee9c53408c2b3e7c09a25bb47791366cb60dea0934e244dc92b7419d4d"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"SettleWrites"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"ageMs"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"Float"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"idempotencyKey"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"settleWrites"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"idempotencyKey"},"value":{"kind":"Variable","name":{"kind":"Name","value":"idempotencyKey"}}},{"kind":"Argument","name":{"kind":"Name","value":"ageMs"},"value":{"kind":"Variable","name":{"kind":"Name","value":"ageMs"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"isComplete"}},{"kind":"Field","name":{"kind":"Name","value":"keyArrived"}},{"kind":"Field","name":{"kind":"Name","value":"writes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"outcome"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerOutcomeUnknown"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"requestId"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerProblem"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerStatus"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"invoiceId"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LedgerUnrecognizedStatus"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"status"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"WorkflowActionCompleted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"action"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"WorkflowCsvUploaded"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"invoiceId"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"unresolved"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"responseName"}}]}}]}}]}}]} as unknown as DocumentNode<SettleWritesMutation, SettleWritesMutationVariables>;