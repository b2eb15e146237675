import { setTimeout as sleep } from 'node:timers/promises';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery } from '../client.ts';
import { type Harness, type Row, type Scenario, until } from '../harness.ts';
import { closedLoop, openLoop } from '../load.ts';
import { type Behaviour, succeed } from '../service.ts';
import { tally } from '../statistics.ts';

const SECONDS = 10;
const DEADLINE_MS = 2_000;
/** Other callers that are active, and their requests per second in total. */
const CALLERS = 5;
const PER_SECOND = 20;

/** Responses of the service to the failing callers, by the project of the request. */
const failures: Record<string, Behaviour> = {
  hang: () => {},
  reset: ({ response }) => response.socket?.resetAndDestroy(),
  'status 500': ({ response }) => void response.writeHead(500).end(),
  'status 503': ({ response }) => void response.writeHead(503).end(),
};
const failForSome: Behaviour = (exchange) =>
  (failures[exchange.project.split(',')[0] ?? ''] ?? succeed)(exchange);

/** Callers whose requests fail in these ways, by the subjects of their tokens; null for a token without one. */
const attacks = [
  { name: 'a caller', subjects: ['failing'], kinds: Object.keys(failures) },
  { name: 'two callers', subjects: ['failing-1', 'failing-2'], kinds: ['reset', 'status 503'] },
  { name: 'two tokens without `sub`', subjects: [null, null], kinds: ['reset', 'status 503'] },
];

/** Callers whose requests always fail do not take the service from other callers. */
export const circuitIsolation: Scenario = {
  name: 'circuit-isolation',
  async run(harness) {
    const rows: Row[] = [];
    for (const attack of attacks) rows.push(...(await measure(harness, attack)));
    return rows;
  },
};

async function measure(
  harness: Harness,
  { name, subjects, kinds }: (typeof attacks)[number],
): Promise<Row[]> {
  const service = await harness.startService(failForSome);
  const gateway = await harness.startGateway(service, {
    UPSTREAM_TIMEOUT_MS: String(DEADLINE_MS),
  });
  const agent = keepAliveAgent(harness);
  const token = (sub: string | null) => harness.issuer.token({ sub });
  const failing = await Promise.all(subjects.map(token));
  const others = await Promise.all(Array.from({ length: CALLERS }, (_, n) => token(`other-${n}`)));
  const read = async (token: string | undefined, project: string) =>
    outcomeOf(await post(gateway.url, token ?? '', readQuery(project), { agent }));

  const failed: string[] = [];
  const attack = closedLoop(20, SECONDS + 9, async (n) => {
    const kind = kinds[Math.floor(n / failing.length) % kinds.length];
    failed.push(await read(failing[n % failing.length], `${kind},${n}`));
    await sleep(5); // The circuit rejects at once.
  });
  await sleep(500);
  const served: string[] = [];
  await openLoop(PER_SECOND, SECONDS, async (n) => {
    served.push(await read(others[n % CALLERS], `p${n}`));
  });

  service.behaviour = ({ response }) => void response.writeHead(503).end();
  await openLoop(PER_SECOND, 2, (n) => read(others[n % CALLERS], `down${n}`));
  const opened = (await gateway.metric('ledger_gateway_circuit_state')) > 0;
  service.behaviour = failForSome;
  const recovered = performance.now();
  const isServed = async () => {
    await sleep(100);
    return isSuccess(await read(others[0], 'recovered'));
  };
  const serves = await until(isServed, 10_000);
  const recoveredMs = performance.now() - recovered;
  await attack;
  return [
    {
      claim: `reads of ${name} get ${kinds.join(', ')}, for ${SECONDS} s: every read of ${CALLERS} other callers is served`,
      measured: `${tally(served)}; the failing: ${tally(failed)}`,
      holds: served.every(isSuccess) && served.length > 150 && failed.length > 200,
    },
    {
      claim: `after an outage for all, ${name} cannot keep the circuit open (10 s)`,
      measured: `${opened ? 'open' : 'not open'}, another caller is served after ${(recoveredMs / 1000).toFixed(1)} s`,
      holds: opened && serves,
    },
  ];
}
