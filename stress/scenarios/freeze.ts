import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis } from '../../testkit/redis.ts';
import { temporaryFile, temporaryFolder } from '../../testkit/temporary-folder.ts';
import { outcomeOf, post, writeMutation } from '../client.ts';
import { type Harness, type Row, type RunningGateway, type Scenario, until } from '../harness.ts';
import { contradictionOf, nameOf } from '../intents/history.ts';
import {
  createIntents,
  type Intent,
  type Settled,
  send,
  settleIntent,
  type Told,
} from '../intents/intent.ts';
import { type Ledger, startLedger } from '../intents/ledger.ts';
import { forEach, numbers } from '../load.ts';
import { tally, withExamples } from '../statistics.ts';

const USERS = 200;
const OPEN_MS = 10_000;
const STOPPED_MS = 30_000;
/** A change of the policy takes effect within this time, in milliseconds. */
const EFFECT_MS = 10_000;
/** How long users wait for a response, and between two clicks, in milliseconds. */
const PATIENCE_MS = 5000;
const PAUSE_MS = 10_000;
const ENDS_WITHIN_MS = 60_000;

type Click = {
  intent: Intent;
  /** In the time of `performance.now()`, as that of its first request that was not rejected, if there is one. */
  at: number;
  sentAt?: number;
  /** What its user learned from responses, and by settling. */
  told: Told[];
  settled: { at: number; answer: Settled | string }[];
  /** How often it was executed before it was sent again at the end, and the response to that. */
  executed: number;
  final?: Told;
};

/** Users click while the policy stops all writes and releases them. */
export const freeze: Scenario = {
  name: 'freeze',
  async run(harness) {
    const redis = await startRedis();
    const file = `file:${join(await temporaryFolder(), 'keys.db')}`;
    return [
      ...(await freezeWrites(harness, 'two gateways on Redis', redis.url, 2)),
      ...(await freezeWrites(harness, 'one gateway with a file', file, 1)),
    ];
  },
};

/** Stops all writes for a time, and compares what users learned with what the service received. */
async function freezeWrites(
  harness: Harness,
  what: string,
  store: string,
  count: number,
): Promise<Row[]> {
  const ledger = await startLedger();
  const policyFile = await temporaryFile('{}');
  const replacePolicy = async (policy: object) => {
    await writeFile(`${policyFile}.next`, JSON.stringify(policy));
    await rename(`${policyFile}.next`, policyFile);
    return performance.now();
  };
  const gateways: RunningGateway[] = [];
  for (let n = 0; n < count; n++) {
    const variables = { IDEMPOTENCY_STORE: store, POLICY_FILE: policyFile, LOG_LEVEL: 'fatal' };
    const gateway = await harness.startGateway(ledger.service, variables);
    gateways.push(gateway);
    await until(() => acceptsWrites(gateway.url, harness.token), 20_000);
  }
  const pickUrl = () => gateways[Math.floor(Math.random() * count)]?.url ?? '';
  const users = startUsers(harness, what.replaceAll(' ', '-'), pickUrl);

  await sleep(OPEN_MS);
  const stoppedAt = await replacePolicy({ writes: { stopped: 'The ledger is being repaired.' } });
  await sleep(STOPPED_MS / 2);
  const earlier = users.clicks.filter(({ at }) => at < stoppedAt).slice(-100);
  await forEach(USERS / 10, earlier, users.settle);
  await sleep(Math.max(0, STOPPED_MS - (performance.now() - stoppedAt)));
  const releasedAt = await replacePolicy({});
  await sleep(OPEN_MS);
  await users.stop();
  const end = performance.now() + ENDS_WITHIN_MS;
  const unfinished = users.clicks.filter(({ told }) => told.every(isStoppedOrOpen));
  await forEach(USERS / 10, unfinished, async (one) => {
    one.executed = ledger.accepted(one.intent.id).length;
    do one.final = await users.send(one, 15_000);
    while (one.final.kind === 'repeat' && performance.now() < end);
  });
  for (const gateway of gateways) await gateway.kill();
  return rowsOf(what, users.clicks, ledger, stoppedAt + EFFECT_MS, releasedAt);
}

/** Users who click every few seconds. Half of the time, they do not wait for the response. */
function startUsers(harness: Harness, prefix: string, pickUrl: () => string) {
  const clicks: Click[] = [];
  let isOver = false;
  const ageOf = ({ sentAt }: Click) => (sentAt === undefined ? 0 : performance.now() - sentAt);
  const sendClick = async (one: Click, timeoutMs: number) => {
    const start = performance.now();
    const told = await send(pickUrl(), one.intent, { isKeyed: true, timeoutMs, ageMs: ageOf(one) });
    if (told.kind !== 'refused') one.sentAt ??= start;
    return told;
  };
  const settle = async (one: Click) => {
    const answer = await settleIntent(pickUrl(), one.intent, ageOf(one), PATIENCE_MS);
    one.settled.push({ at: performance.now(), answer });
  };
  /** Sends a write. Without an outcome, the user asks for it, or sends the write again. */
  const click = async (one: Click, n: number) => {
    clicks.push(one);
    const first = await sendClick(one, n % 2 === 0 ? 60 : PATIENCE_MS);
    one.told.push(first);
    if (first.kind !== 'repeat') return;
    await sleep(Math.random() * 2000);
    if (n % 4 === 0) await settle(one);
    else one.told.push(await sendClick(one, PATIENCE_MS));
  };
  const running = numbers(USERS).map(async (user) => {
    const [, saving] = await createIntents(harness, `${prefix}-${user}`, 2);
    if (!saving) return;
    await sleep(Math.random() * PAUSE_MS);
    for (let n = 0; !isOver; n++) {
      const id = `${saving.id}-${n}`;
      const intent = { ...saving, id, variables: { id } };
      await click({ intent, at: performance.now(), told: [], settled: [], executed: 0 }, n);
      await sleep((0.5 + Math.random()) * PAUSE_MS);
    }
  });
  return {
    clicks,
    send: sendClick,
    settle,
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

async function acceptsWrites(url: string, token: string): Promise<boolean> {
  const id = crypto.randomUUID();
  const sent = await post(url, token, writeMutation(id), { idempotencyKey: id, ageMs: 0 });
  return outcomeOf(sent) === 'ApproversSaved';
}

const isStopped = (told: Told) => told.kind === 'refused' && told.code === 'OPERATION_STOPPED';
const isStoppedOrOpen = (told: Told) => told.kind === 'repeat' || isStopped(told);

function rowsOf(what: string, clicks: Click[], ledger: Ledger, from: number, to: number): Row[] {
  const arrivals = [...ledger.arrivals.values()].flat();
  const during = arrivals.filter(({ at }) => at > from && at < to);
  const asked = clicks.flatMap(({ settled }) => settled).filter(({ at }) => at > from && at < to);
  const answers = asked.map(({ answer }) =>
    typeof answer === 'string' ? answer : (answer.member?.__typename ?? 'not executed'),
  );
  const known = /^Ledger|Saved$|Uploaded$|Completed$|not executed|IN_PROGRESS/;
  const rejected = clicks.filter(({ told }) => told.some(isStopped));
  const faults = clicks.flatMap((one) => faultsOf(one, ledger));
  const finals = clicks.flatMap(({ final }) => final ?? []);
  const open = finals.filter(({ kind }) => kind === 'repeat');
  return [
    {
      claim: `${what}, ${USERS} users: nothing is sent later than ${EFFECT_MS / 1000} s after a stop`,
      measured: `${during.length} of ${arrivals.length} writes, ${rejected.length} clicks stopped`,
      holds: during.length === 0 && rejected.length > 0 && arrivals.length > 0,
    },
    {
      claim: `${what}: settling works while writes are stopped`,
      measured: tally(answers),
      holds: asked.length > 0 && answers.every((one) => known.test(one)),
    },
    {
      claim: `${what}: users learn what happened, and no click takes effect twice`,
      measured: withExamples(`${faults.length} contradictions of ${clicks.length}`, faults),
      holds: faults.length === 0,
    },
    {
      claim: `${what}: after the stop, each click ends with the same key`,
      measured: `${open.length} open; ${tally(finals.map(nameOf))}`,
      holds: open.length === 0 && finals.length > 0,
    },
  ];
}

/** What a user learned of a click that differs from what happened at the service. */
function faultsOf({ intent, told, executed, final }: Click, ledger: Ledger): string[] {
  const { id } = intent;
  if (told.some(isStopped) && executed > 0) return [`${id}: stopped, but executed`];
  const isOrphaned = final !== undefined && nameOf(final).endsWith('ORPHANED');
  if (told.every(isStopped) && isOrphaned) return [`${id}: stopped, and then orphaned`];
  const isSettled = final !== undefined && nameOf(final) === 'IDEMPOTENCY_KEY_SETTLED';
  if (isSettled) return executed > 0 ? [`${id}: settled as not executed, but executed`] : [];
  return [...told, ...(final ? [final] : [])].flatMap((one) => {
    const isFinal = one.kind !== 'repeat' && !isStopped(one);
    return isFinal ? (contradictionOf(id, one, ledger) ?? []) : [];
  });
}
