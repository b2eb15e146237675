import Type, { type Static, type TSchema } from 'typebox';
import type { WorkflowAction } from '../generated/resolvers.ts';
import { writeJson } from '../lib/json.ts';
import { statusMember } from '../resolvers/status-member.ts';
import { defineOperation } from './operations.ts';
import { argumentPath } from './problem-faults.ts';
import {
  listResponse,
  parseBody,
  readRecord,
  readStatus,
  recordedStatus,
  type ServiceResponse,
  serviceStatus,
  statusResponse,
} from './responses.ts';
import {
  double,
  flag,
  guardOf,
  identifier,
  int32,
  integerIn,
  list,
  optional,
  record,
  text,
  unnamed,
} from './wire-types.ts';

/*
 * The operations of the service (docs/reference/service-api.md). This is the only place that describes one: the check of a response,
 * the encoding of a request, the metrics, the reference service and the OpenAPI description follow from its row.
 */

/** The integration target (section 2.7). */
const integrationTarget = integerIn([0, 12], [20, 24], [26, 27], [33, 51], [4001, 4001], [-1, -1]);

/** GLCodeInfo (section 2.3). */
const glCodeInfo = record({
  Code: optional(text),
  Name: optional(text),
  Value: optional(text),
  Hide: optional(int32),
});

/** Approver (section 2.4). An undefined field is not sent; null is sent as null. */
const approver = record({
  approver_id: optional(identifier),
  claim_limit: optional(double),
  description: optional(text),
  email: optional(text),
  email_upload: optional(text),
  is_disable_approval: optional(flag),
  is_expense_claim: optional(flag),
  my_bank_account: optional(text),
  my_email: optional(text),
  name: optional(text),
  workflow_id: optional(identifier),
  workflow_name: optional(text),
});
export type Approver = Static<typeof approver>;

/** The body of updateWorkflowCSV (section 2.5). */
const csvUpload = record({
  PictureName: optional(text),
  PictureStream: optional(text),
  service_status: optional(record({ invoice_id: optional(identifier), message: optional(text) })),
});
export type WorkflowCsvUpload = Static<typeof csvUpload>;
/**
 * The fields of the argument `input`, by the fields of the body. The content stands for one of two, and any other name is that of
 * the parameter.
 */
const csvArguments = new Map<PropertyKey | undefined, string[]>([
  [undefined, []],
  ['PictureName', ['fileName']],
  ['PictureStream', []],
  ['service_status', []],
  ['invoice_id', ['invoiceId']],
  ['message', ['message']],
]);

/** The values of the unnamed query parameter of updateWorkflowCSV (section 4.3). */
const workflowCsvOption = integerIn(
  [-6, -1],
  [1, 27],
  [30, 31],
  [99, 99],
  [101, 160],
  [208, 360],
  [369, 421],
  [423, 454],
  [461, 500],
);
export const isWorkflowCsvOption = guardOf(workflowCsvOption);

const unresolved = record({ unresolved: optional(text) });
const recordedUpload = record({
  unresolved: Type.Union([text, Type.Null()]),
  record: Type.Union([recordedStatus, Type.Null()]),
});
/** The decoded response of updateWorkflowCSV (section 2.6), or the status record that the service returns instead. */
export type WorkflowCsvResult = Static<typeof recordedUpload>;

/**
 * The response of updateWorkflowCSV. docs/reference/service-api.md shows only the field `unresolved`. A record without this field, or
 * with a `status` beside it, is decoded as a status record. A value of the field that is no text is shown as JSON.
 */
const uploadResponse: ServiceResponse<WorkflowCsvResult> = {
  wire: [unresolved, serviceStatus],
  decode(body) {
    const value = parseBody(body);
    const { unresolved = null } = readRecord(value);
    const isText = typeof unresolved === 'string' || unresolved === null;
    const shown = isText ? unresolved : writeJson(readRecord(parseBody(body, true)).unresolved);
    const isStatus = !Object.hasOwn(Object(value), 'unresolved') || 'status' in Object(value);
    return { unresolved: shown, record: isStatus ? readStatus(value) : null };
  },
  ofStatus: (status) => ({ unresolved: null, record: status }),
  isRecorded: guardOf(recordedUpload),
};

/** Defines a workflow action (section 4.4), which is a GET that changes state, by what differs between the actions. */
const workflowAction = <P extends TSchema>(
  action: WorkflowAction,
  row: { name: string; parameters: P; sample: string },
) =>
  defineOperation({
    section: '4.4',
    method: 'GET',
    effect: 'write',
    body: null,
    response: statusResponse,
    field: 'workflowAction',
    action,
    member: (status) => statusMember(status, { __typename: 'WorkflowActionCompleted', action }),
    ...row,
  });

/** The operations of the service. */
export const operations = {
  getGLCodes5: defineOperation({
    name: 'getGLCodes5',
    section: '4.1',
    method: 'GET',
    effect: 'read',
    parameters: record({ target: integrationTarget, project: text, includeHide: flag }),
    body: null,
    response: listResponse(glCodeInfo),
    sample:
      '{"service_status":{"invoice_id":48213,"message":"","status":0},"list":[{"Code":"4010","Name":"Raw materials","Value":"NP-4010","Hide":0}]}',
    field: 'glCodes',
  }),
  saveApproverList: defineOperation({
    name: 'saveApproverList',
    section: '4.2',
    method: 'POST',
    effect: 'write',
    parameters: record({}),
    body: list(approver),
    response: statusResponse,
    argumentOf: (path) => ['approvers', ...argumentPath(path)],
    sample: '{"invoice_id":48214,"message":"Approvers saved.","status":0}',
    field: 'saveApprovers',
    member: (status) => statusMember(status, { __typename: 'ApproversSaved' }),
  }),
  updateWorkflowCSV: defineOperation({
    name: 'updateWorkflowCSV',
    section: '4.3',
    method: 'POST',
    effect: 'write',
    // The name of the parameter is not documented, so it is configured.
    parameters: unnamed(workflowCsvOption),
    body: csvUpload,
    response: uploadResponse,
    file: ({ PictureName: name, PictureStream: content }) => ({
      name: name ?? '',
      content: content ?? '',
    }),
    argumentOf: (path) => ['input', ...(csvArguments.get(path.at(-1)) ?? ['option'])],
    sample: '{"unresolved":"INV-2,"}',
    field: 'uploadWorkflowCsv',
    member({ unresolved, record }) {
      const success = { __typename: 'WorkflowCsvUploaded', unresolved } as const;
      return record
        ? statusMember(record, success)
        : { ...success, invoiceId: null, message: null };
    },
  }),
  restartWorkflowAndMoveToNext: workflowAction('RESTART_AND_MOVE_TO_NEXT', {
    name: 'restartWorkflowAndMoveToNext',
    parameters: record({}),
    sample: '{"invoice_id":48310,"message":"Moved to next.","status":0}',
  }),
  reStoreGlobalSolution: workflowAction('RESTORE_GLOBAL_SOLUTION', {
    name: 'reStoreGlobalSolution',
    parameters: record({}),
    sample: '{"invoice_id":48311,"message":"Global solution restored.","status":0}',
  }),
  reStoreSolution: workflowAction('RESTORE_SOLUTION', {
    name: 'reStoreSolution',
    parameters: record({}),
    sample: '{"invoice_id":9007199254740993,"message":"Solution restored.","status":0}',
  }),
  restartWorkflow2: workflowAction('RESTART', {
    name: 'restartWorkflow2',
    parameters: record({}),
    sample: '{"invoice_id":9223372036854775807,"message":"Workflow restarted.","status":0}',
  }),
  updateSolutionGuide: workflowAction('UPDATE_SOLUTION_GUIDE', {
    name: 'updateSolutionGuide',
    parameters: record({}),
    sample: '{"invoice_id":48313,"message":"Solution guide updated.","status":0}',
  }),
  upgradeToHQ: workflowAction('UPGRADE_TO_HQ', {
    name: 'upgradeToHQ',
    parameters: record({}),
    sample: '{"invoice_id":48314,"message":"Account upgraded.","status":0}',
  }),
};
