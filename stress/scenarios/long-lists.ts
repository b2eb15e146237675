import { keepAliveAgent, outcomeOf, post } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
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
      `a${index}: glCodes(target: EMAIL, project: "${project}") { ... on GlCodeList { codes { code } } }`,
  );
  return `{ ${fields.join(' ')} }`;
}

const attacks: [name: string, queries: string[]][] = [
  ['one query for 40 long lists', [codesOf(Array.from({ length: 40 }, (_, n) => `p${n}`))]],
  ['60 queries for the same long list', Array<string>(60).fill(codesOf(['p']))],
];

/** Long lists do not end a process with little memory. */
export const longLists: Scenario = {
  name: 'long-lists',
  async run(harness) {
    const rows: Row[] = [];
    for (const [name, queries] of attacks) rows.push(await attack(harness, name, queries));
    return rows;
  },
};

async function attack(harness: Harness, name: string, queries: string[]): Promise<Row> {
  const service = await harness.startService(({ response }) => response.end(longList));
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
    claim: `${name} of 20,000 codes, at the same time, with 160 MB of heap: the process goes on`,
    measured: tally(outcomes),
    holds: after.status === 200,
  };
}
