import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import type { Scenario } from '../harness.ts';
import { closedLoop, openLoop, warmUp } from '../load.ts';
import { type Behaviour, succeed } from '../service.ts';
import { percentile, tally } from '../statistics.ts';

const SECONDS = 12;
const PLACES = 16;
const RESPONSE_MS = 500;
/** References in each request of the caller that sends many. */
const REFERENCES = 200;

const respondSlowly: Behaviour = (exchange) => void setTimeout(succeed, RESPONSE_MS, exchange);

const referencesQuery = `query ($representations: [_Any!]!) {
  result: _entities(representations: $representations) { __typename }
}`;
const references = (request: number) =>
  Array.from({ length: REFERENCES }, (_, n) => ({
    __typename: 'GlCode',
    target: 'EMAIL',
    project: `many-${request}-${n}`,
    code: '1',
  }));

/** A caller with many calls does not delay another caller. */
export const fairness: Scenario = {
  name: 'fairness',
  async run(harness) {
    const service = await harness.startService(respondSlowly);
    const gateway = await harness.startGateway(service, {
      UPSTREAM_MAX_CONCURRENCY: String(PLACES),
    });
    const agent = keepAliveAgent(harness);
    const [many, few] = await Promise.all(
      ['many', 'few'].map((sub) => harness.issuer.token({ sub })),
    );
    await warmUp(gateway.url, few ?? '', agent);
    let requests = 0;
    const load = closedLoop(4, SECONDS, async (n) => {
      const variables = { representations: references(n) };
      await post(gateway.url, many ?? '', referencesQuery, { agent, variables });
      requests += 1;
    });
    const outcomes: string[] = [];
    const latencies: number[] = [];
    await openLoop(4, SECONDS, async (n) => {
      const query = n % 4 === 0 ? writeMutation(`few-${n}`) : readQuery(`few-${n}`);
      const response = await post(gateway.url, few ?? '', query, { agent });
      outcomes.push(outcomeOf(response));
      latencies.push(response.ms);
    });
    await load;
    const p90 = percentile(latencies, 0.9);
    const perSecond = (service.calls - outcomes.length) / SECONDS;
    const possible = (PLACES * 0.75 * 1000) / RESPONSE_MS;
    return [
      {
        claim: `${PLACES} places, a caller with 4 × ${REFERENCES} references at a time: every request of another caller is served`,
        measured: `${tally(outcomes)} (beside ${requests} requests with ${REFERENCES} references)`,
        holds: outcomes.every(isSuccess) && outcomes.length > 40,
      },
      {
        claim: `it gets a place at once: p90 at most ${RESPONSE_MS} + 250 ms`,
        measured: `${p90.toFixed(0)} ms, p50 ${percentile(latencies, 0.5).toFixed(0)} ms`,
        holds: p90 <= RESPONSE_MS + 250,
      },
      {
        claim: 'the caller with the references uses most of the places',
        measured: `${perSecond.toFixed(1)} calls per second, of ${possible} possible with three quarters`,
        holds: perSecond >= possible * 0.8,
      },
    ];
  },
};
