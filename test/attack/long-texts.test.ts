import { expect, test } from '@jest/globals';
import { json } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

/** The longest message of an error, in characters, with the mark of a text that is cut. */
const MAX_MESSAGE_LENGTH = 1001;

/** It must not send anything to the service. `text-limits.test.ts` has the long texts of arguments. */
const share = shareGateway({ INTROSPECTION: 'true' });
const start = () => share(json({ status: 0, service_status: { status: 0 }, list: [] }));

const long = 'x'.repeat(500_000);
/** As long as a document may be. */
const medium = 'x'.repeat(130_000);
const digits = '9'.repeat(130_000);
const veryLong = '9'.repeat(5_000_000);
const approvers =
  'mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }';
const upload = 'mutation ($a: WorkflowCsvInput!) { uploadWorkflowCsv(input: $a) { __typename } }';
const action = 'mutation ($a: WorkflowAction!) { workflowAction(action: $a) { __typename } }';
const codes = 'query ($a: String!) { glCodes(target: EMAIL, project: $a) { __typename } }';
const entities =
  'query ($a: [_Any!]!) { _entities(representations: $a) { ... on GlCode { code } } }';
const codeReference = { __typename: 'GlCode', target: 'EMAIL', project: 'p', code: 'c' };

/** The body of a request with a variable, given as JSON. */
const rawVariable = (query: string, json: string) =>
  `{"query":${JSON.stringify(query)},"variables":{"a":${json}}}`;
const variable = (query: string, a: unknown) => ({ query, variables: { a } });
const approver = (fields: object) => variable(approvers, [fields]);
const referenceWith = (fields: object) => variable(entities, [{ ...codeReference, ...fields }]);

test.each<[name: string, body: object | string]>([
  ['operation name', { query: 'query A { __typename }', operationName: long }],
  ['document', { query: long }],
  ['name in a document', { query: `{ ${medium} }` }],
  ['string in a document', { query: `{ glCodes(target: "${medium}", project: 1) { a } }` }],
  ['number in a document', { query: `{ glCodes(target: EMAIL, project: ${digits}) }` }],
  ['unterminated string', { query: `{ glCodes(project: "${medium} ` }],
  ['name of an enum value', variable(action, long)],
  ['text as an object', variable(upload, long)],
  ['object as a text', variable(codes, { [long]: long })],
  ['name of a field', approver({ [long]: 1 })],
  ['number as a text', approver({ claimLimit: long })],
  ['number', rawVariable(approvers, `[{"approverId":${veryLong},"claimLimit":${veryLong}}]`)],
  ['identifier of letters', approver({ workflowId: long })],
  ['content', variable(upload, { fileName: 'a', contentBase64: `${long}!` })],
  ['target of a reference', referenceWith({ target: long })],
  ['type of a reference', referenceWith({ __typename: long })],
])('an error repeats no long %s', async (name, body) => {
  const { service, gateway } = start();
  const requestId = name.replaceAll(' ', '-');
  const logged = gateway.logText().length;

  const { text } = await gateway.post(body, { 'x-request-id': requestId });

  const { errors } = JSON.parse(text);
  expect(errors).not.toHaveLength(0);
  for (const { message } of errors) expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE_LENGTH);
  expect(text.length).toBeLessThan(10_000);
  await gateway.logLine({ msg: 'request', requestId });
  expect(gateway.logText().length - logged).toBeLessThan(10_000);
  expect(service.received).toEqual([]);
});
