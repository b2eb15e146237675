import { keepAliveAgent, outcomeOf, post } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import type { Behaviour } from '../service.ts';
import { tally } from '../statistics.ts';

const longList = JSON.stringify({
  service_status: { status: 0 },
  list: Array.from({ length: 20_000 }, (_, code) => ({
    Code: `C${code}`,
    Name: `General ledger code ${code}`,
    Value: `value ${code}`,
    Hide: 0,
  })),
});

/** A query for the codes of these projects. */
function codesOf(projects: readonly string[]): string {
  const fields = projects.map(
    (project, index) =>
      `${index === 0 ? 'result' : `a${index}`}: glCodes(target: EMAIL, project: "${project}") { __typename ... on GlCodeList { codes { code } } }`,
  );
  return `{ ${fields.join(' ')} }`;
}

/** A response in 1.5 million chunks of a byte, which is invalid. */
const tinyChunks: Behaviour = ({ response: { socket } }) => {
  const body = `${'1\r\n \r\n'.repeat(1_500_000)}2\r\n{}\r\n0\r\n\r\n`;
  socket?.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`);
};

const attacks: [name: string, body: string | Behaviour, queries: string[]][] = [
  [
    'one query for 40 lists of 20,000 codes',
    longList,
    [codesOf(Array.from({ length: 40 }, (_, n) => `p${n}`))],
  ],
  ['60 queries for one list of 20,000 codes', longList, Array<string>(60).fill(codesOf(['p']))],
  [
    'a list of five million empty records',
    `{"list":[${'{},'.repeat(5_000_000)}{}]}`,
    [codesOf(['p'])],
  ],
  ['a response in chunks of one byte', tinyChunks, [codesOf(['p'])]],
];

/** Long lists and responses in tiny parts do not end a process with little memory. */
export const longLists: Scenario = {
  name: 'long-lists',
  async run(harness) {
    const rows: Row[] = [];
    for (const attack of attacks) rows.push(await run(harness, ...attack));
    return rows;
  },
};

async function run(
  harness: Harness,
  name: string,
  body: string | Behaviour,
  queries: string[],
): Promise<Row> {
  const service = await harness.startService(
    typeof body === 'string' ? ({ response }) => response.end(body) : body,
  );
  const gateway = await harness.startGateway(service, {
    NODE_OPTIONS: '--max-old-space-size=160',
    UPSTREAM_TIMEOUT_MS: '60000',
  });
  const agent = keepAliveAgent(harness);
  const outcomes = await Promise.all(
    queries.map(async (query) =>
      outcomeOf(await post(gateway.url, harness.token, query, { agent })),
    ),
  );
  const after = await post(gateway.url, harness.token, '{ __typename }', { agent });
  return {
    claim: `${name}, with 160 MB of heap: each query has an outcome, and the process goes on`,
    measured: tally(outcomes),
    holds: after.status === 200 && outcomes.every((outcome) => /^[A-Z]/.test(outcome)),
  };
}
