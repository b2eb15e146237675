import { type GatewayResponse, keepAliveAgent, outcomeOf, post, readQuery } from '../client.ts';
import { whileMeasuring } from '../event-loop.ts';
import type { Row, Scenario } from '../harness.ts';
import { warmUp } from '../load.ts';
import { residentMb } from '../process.ts';
import { succeed } from '../service.ts';
import { tally } from '../statistics.ts';

const UPLOADS = 40;
/** How long the service takes for an upload, in milliseconds. */
const SERVICE_MS = 500;

const upload = {
  query:
    'mutation ($c: String!) { result: uploadWorkflowCsv(input: { fileName: "a", contentBase64: $c }) { __typename } }',
  variables: { c: 'AAAA'.repeat(15_000_000 / 4) },
};

const approver = {
  claimLimit: 100,
  description: 'a',
  email: 'a@a.example',
  emailUpload: null,
  isDisableApproval: false,
  isExpenseClaim: true,
  myBankAccount: '1',
  myEmail: null,
  name: 'Ada',
  workflowId: '1',
  workflowName: 'w',
};
const saveApprovers =
  'mutation ($a: [ApproverInput!]!) { result: saveApprovers(approvers: $a) { __typename } }';
const millionKeys = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, n) => [`k${n}`, 1]));

/** Single requests, each with its outcome. */
const requests = [
  { name: 'an upload of 15 MB', ...upload, outcome: 'WorkflowCsvUploaded' },
  {
    name: 'a million keys',
    query: saveApprovers,
    variables: { a: [millionKeys] },
    outcome: 'OPERATION_LIMIT_EXCEEDED',
  },
  {
    name: '3,000 approvers',
    query: saveApprovers,
    variables: {
      a: Array.from({ length: 3_000 }, (_, n) => ({ approverId: String(n), ...approver })),
    },
    outcome: 'ApproversSaved',
  },
];

/** Large request bodies neither exhaust a process of 512 MB nor keep other clients waiting. */
export const bodies: Scenario = {
  name: 'bodies',
  async run(harness) {
    const service = await harness.startService((exchange) => {
      setTimeout(() => succeed(exchange), exchange.path === 'updateWorkflowCSV' ? SERVICE_MS : 0);
    });
    const gateway = await harness.startGateway(service, {
      NODE_OPTIONS: '--max-old-space-size=512',
    });
    await warmUp(gateway.url, harness.token, keepAliveAgent(harness), readQuery('warm'));
    const send = ({ query, variables }: { query: string; variables: object }) =>
      post(gateway.url, harness.token, query, { variables });

    const { result, row } = await whileMeasuring(gateway, () =>
      Promise.all(Array.from({ length: UPLOADS }, () => send(upload))),
    );
    const rows = [rowOfUploads(result, residentMb(gateway.pid)), row];
    for (const { name, outcome, ...request } of requests) {
      const single = await whileMeasuring(gateway, () => send(request));
      const measured = outcomeOf(single.result);
      const claim = `${name}, alone: ${outcome}`;
      rows.push({ claim, measured, holds: measured === outcome }, single.row);
    }
    return rows;
  },
};

function rowOfUploads(responses: GatewayResponse[], mb: number): Row {
  const outcomes = responses.map(outcomeOf);
  return {
    claim: `${UPLOADS} uploads of 15 MB at once, with 512 MB of heap: each is sent or rejected`,
    measured: `${tally(outcomes)}; ${mb.toFixed(0)} MB resident afterwards`,
    holds:
      outcomes.includes('WorkflowCsvUploaded') &&
      outcomes.every((outcome) => ['WorkflowCsvUploaded', 'OVERLOADED'].includes(outcome)),
  };
}
