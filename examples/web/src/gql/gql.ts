/* eslint-disable */
import * as types from './graphql';
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';

/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "query GlCodes($target: IntegrationTarget!, $project: String!, $includeHide: Boolean!, $search: String!, $codePrefix: String!, $orderBy: GlCodeOrder!, $skip: Int!, $first: Int!) {\n  glCodes(\n    target: $target\n    project: $project\n    includeHide: $includeHide\n    search: $search\n    codePrefix: $codePrefix\n    orderBy: $orderBy\n    skip: $skip\n    first: $first\n  ) {\n    __typename\n    ... on GlCodeList {\n      totalCount\n      codes {\n        code\n        name\n        value\n        hide\n      }\n    }\n    ... on LedgerProblem {\n      message\n    }\n  }\n}": typeof types.GlCodesDocument,
    "mutation SaveApprovers($approvers: [ApproverInput!]!) {\n  saveApprovers(approvers: $approvers) {\n    __typename\n    ... on LedgerStatus {\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}": typeof types.SaveApproversDocument,
    "mutation UploadWorkflowCsv($input: WorkflowCsvInput!) {\n  uploadWorkflowCsv(input: $input) {\n    __typename\n    ... on WorkflowCsvUploaded {\n      unresolved\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}": typeof types.UploadWorkflowCsvDocument,
    "mutation WorkflowAction($action: WorkflowAction!) {\n  workflowAction(action: $action) {\n    __typename\n    ... on WorkflowActionCompleted {\n      action\n      invoiceId\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}": typeof types.WorkflowActionDocument,
    "mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete keyArrived writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message } ... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status } ... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }": typeof types.SettleWritesDocument,
};
const documents: Documents = {
    "query GlCodes($target: IntegrationTarget!, $project: String!, $includeHide: Boolean!, $search: String!, $codePrefix: String!, $orderBy: GlCodeOrder!, $skip: Int!, $first: Int!) {\n  glCodes(\n    target: $target\n    project: $project\n    includeHide: $includeHide\n    search: $search\n    codePrefix: $codePrefix\n    orderBy: $orderBy\n    skip: $skip\n    first: $first\n  ) {\n    __typename\n    ... on GlCodeList {\n      totalCount\n      codes {\n        code\n        name\n        value\n        hide\n      }\n    }\n    ... on LedgerProblem {\n      message\n    }\n  }\n}": types.GlCodesDocument,
    "mutation SaveApprovers($approvers: [ApproverInput!]!) {\n  saveApprovers(approvers: $approvers) {\n    __typename\n    ... on LedgerStatus {\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}": types.SaveApproversDocument,
    "mutation UploadWorkflowCsv($input: WorkflowCsvInput!) {\n  uploadWorkflowCsv(input: $input) {\n    __typename\n    ... on WorkflowCsvUploaded {\n      unresolved\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}": types.UploadWorkflowCsvDocument,
    "mutation WorkflowAction($action: WorkflowAction!) {\n  workflowAction(action: $action) {\n    __typename\n    ... on WorkflowActionCompleted {\n      action\n      invoiceId\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}": types.WorkflowActionDocument,
    "mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete keyArrived writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message } ... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status } ... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }": types.SettleWritesDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 *
 *
 * @example
 * ```ts
 * const query = graphql(`query GetUser($id: ID!) { user(id: $id) { name } }`);
 * ```
 *
 * The query argument is unknown!
 * Please regenerate the types.
 */
export function graphql(source: string): unknown;

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "query GlCodes($target: IntegrationTarget!, $project: String!, $includeHide: Boolean!, $search: String!, $codePrefix: String!, $orderBy: GlCodeOrder!, $skip: Int!, $first: Int!) {\n  glCodes(\n    target: $target\n    project: $project\n    includeHide: $includeHide\n    search: $search\n    codePrefix: $codePrefix\n    orderBy: $orderBy\n    skip: $skip\n    first: $first\n  ) {\n    __typename\n    ... on GlCodeList {\n      totalCount\n      codes {\n        code\n        name\n        value\n        hide\n      }\n    }\n    ... on LedgerProblem {\n      message\n    }\n  }\n}"): (typeof documents)["query GlCodes($target: IntegrationTarget!, $project: String!, $includeHide: Boolean!, $search: String!, $codePrefix: String!, $orderBy: GlCodeOrder!, $skip: Int!, $first: Int!) {\n  glCodes(\n    target: $target\n    project: $project\n    includeHide: $includeHide\n    search: $search\n    codePrefix: $codePrefix\n    orderBy: $orderBy\n    skip: $skip\n    first: $first\n  ) {\n    __typename\n    ... on GlCodeList {\n      totalCount\n      codes {\n        code\n        name\n        value\n        hide\n      }\n    }\n    ... on LedgerProblem {\n      message\n    }\n  }\n}"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "mutation SaveApprovers($approvers: [ApproverInput!]!) {\n  saveApprovers(approvers: $approvers) {\n    __typename\n    ... on LedgerStatus {\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}"): (typeof documents)["mutation SaveApprovers($approvers: [ApproverInput!]!) {\n  saveApprovers(approvers: $approvers) {\n    __typename\n    ... on LedgerStatus {\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "mutation UploadWorkflowCsv($input: WorkflowCsvInput!) {\n  uploadWorkflowCsv(input: $input) {\n    __typename\n    ... on WorkflowCsvUploaded {\n      unresolved\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}"): (typeof documents)["mutation UploadWorkflowCsv($input: WorkflowCsvInput!) {\n  uploadWorkflowCsv(input: $input) {\n    __typename\n    ... on WorkflowCsvUploaded {\n      unresolved\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "mutation WorkflowAction($action: WorkflowAction!) {\n  workflowAction(action: $action) {\n    __typename\n    ... on WorkflowActionCompleted {\n      action\n      invoiceId\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}"): (typeof documents)["mutation WorkflowAction($action: WorkflowAction!) {\n  workflowAction(action: $action) {\n    __typename\n    ... on WorkflowActionCompleted {\n      action\n      invoiceId\n      message\n    }\n    ... on LedgerProblem {\n      message\n    }\n    ... on LedgerOutcomeUnknown {\n      code\n      requestId\n    }\n  }\n}"];
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete keyArrived writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message } ... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status } ... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }"): (typeof documents)["mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete keyArrived writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message } ... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status } ... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }"];

export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}

export type DocumentType<TDocumentNode extends DocumentNode<any, any>> = TDocumentNode extends DocumentNode<  infer TType,  any>  ? TType  : never;