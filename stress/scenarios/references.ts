import { keepAliveAgent, outcomeOf, post, readQuery } from '../client.ts';
import { whileMeasuring } from '../event-loop.ts';
import type { Row, Scenario } from '../harness.ts';
import { warmUp } from '../load.ts';
import { residentMb } from '../process.ts';
import { tally } from '../statistics.ts';

const REFERENCES = 5_000;
/** How often each request is sent, one after the other. */
const ROUNDS = 4;

const codes = Array.from({ length: 100 }, (_, n) => ({
  Code: String(n),
  Name: `name ${n}`,
  Value: 'x'.repeat(100),
  Hide: 0,
}));
const list = JSON.stringify({ service_status: { status: 0 }, list: codes });

function referencesTo(project: (n: number) => string, count = REFERENCES) {
  return Array.from({ length: count }, (_, n) => ({
    __typename: 'GlCode',
    target: 'EMAIL',
    project: project(n),
    code: String(n % 100),
  }));
}

const query = (fields: string) =>
  `query ($r: [_Any!]!) { _entities(representations: $r) { ... on GlCode { ${fields} } } }`;
const allFields = query('target project code name value hide');
/** Fields with long names: more than 100 KB for each reference. */
const longNames = query(
  Array.from({ length: 190 }, (_, n) => `${'a'.repeat(600)}${n}: value`).join(' '),
);

const served = 'served';
const rejected = 'OPERATION_LIMIT_EXCEEDED';

const requests = [
  {
    name: 'references to one list',
    query: allFields,
    references: referencesTo(() => 'north'),
    outcome: served,
  },
  {
    name: 'references to 200 lists',
    query: allFields,
    references: referencesTo((n) => `p${n % 200}`),
    outcome: served,
  },
  {
    name: 'references to as many lists',
    query: allFields,
    references: referencesTo((n) => `p${n}`),
    outcome: rejected,
  },
  {
    name: 'references to as many lists, in 5 MB',
    query: allFields,
    references: referencesTo((n) => `${'p'.repeat(1_000)}${n}`),
    outcome: rejected,
  },
  {
    name: 'references under 190 long names',
    query: longNames,
    references: referencesTo(() => 'north', 1_300),
    outcome: rejected,
  },
];

/** Many entity references neither exhaust a process of 512 MB nor keep other clients waiting. */
export const references: Scenario = {
  name: 'references',
  async run(harness) {
    const service = await harness.startService(({ response }) => {
      response.setHeader('content-type', 'application/json');
      response.end(list);
    });
    const gateway = await harness.startGateway(service, {
      NODE_OPTIONS: '--max-old-space-size=512',
    });
    await warmUp(gateway.url, harness.token, keepAliveAgent(harness), readQuery('warm'));
    const send = async (document: string, r: unknown[]) => {
      const response = await post(gateway.url, harness.token, document, { variables: { r } });
      const isServed = response.status === 200 && !response.body.includes('"errors"');
      return isServed ? served : outcomeOf(response);
    };
    await send(
      allFields,
      referencesTo(() => 'warm'),
    );

    const rows: Row[] = [];
    for (const { name, query, references, outcome } of requests) {
      const { result, row } = await whileMeasuring(gateway, async () => {
        const outcomes: string[] = [];
        while (outcomes.length < ROUNDS) outcomes.push(await send(query, references));
        return outcomes;
      });
      rows.push(
        {
          claim: `${references.length} ${name}, ${ROUNDS} times: ${outcome}`,
          measured: `${tally(result)}; ${residentMb(gateway.pid).toFixed(0)} MB resident afterwards`,
          holds: result.every((one) => one === outcome),
        },
        row,
      );
    }
    return rows;
  },
};
