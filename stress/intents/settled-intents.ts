import { setTimeout as sleep } from 'node:timers/promises';
import type { Harness, Row } from '../harness.ts';
import { numbers } from '../load.ts';
import { tally, withExamples } from '../statistics.ts';
import { contradictionOf, nameOf } from './history.ts';
import {
  createIntents,
  type Intent,
  type Settled,
  send,
  settleIntent,
  type Told,
} from './intent.ts';
import type { Ledger } from './ledger.ts';

export const CLIENTS = 20;
/** A client that waits no longer leaves its request unanswered. */
const PATIENCE_MS = { first: 60, last: 2500 };
const MAX_REPEATS = 4;
/** The share of intents whose client repeats its request until the response is final, and for how long. */
const PERSISTENT = 0.25;
const PERSISTENT_MS = 20_000;
const SETTLE_TIMEOUT_MS = 3000;
/** The share of intents of which a copy is on its way for long, and the longest time, in milliseconds. */
const SLOW_COPIES = 0.1;
const SLOW_WAY_MS = 20_000;
/** How long a client asks gateways that respond. On a slow machine, one that was killed may need longer to start. */
const SETTLED_WITHIN_MS = 60_000;

/** An answer that is true, but that only a death of the sender or a loss explains. */
const NOT_SENT = 'ORPHANED (not sent)';

type Result = {
  id: string;
  told: Told[];
  /** The error that says that repeating does not help, before the key was settled. There is no reason for one. */
  refused: string | undefined;
  /** When each request was sent, in the time of `performance.now()`. */
  sentAt: number[];
  settled: Settled | undefined;
  settleAgain: () => Promise<Settled | string>;
  /** What an intent that was `ORPHANED` is in the end: by then its sender may have reported. */
  settledAgain?: Settled;
  /** Why settling had to be repeated. */
  reasons: string[];
  /** What a copy of the request got after the key was settled. */
  late: Told | undefined;
};

type Options = {
  prefix: string;
  urls: () => string[];
  running: { load: boolean };
  /** Whether the store knows that it may have lost records when its gateway starts. */
  notesStarts: boolean;
  /** What each client awaits after its first request: by how much that is older then, in milliseconds. */
  ageing?: (() => Promise<number>) | undefined;
};

/**
 * Sends intents with their age to gateways at random, as impatient clients do, until `running.load` is false. Then
 * settles each, and sends a late copy.
 */
export async function runSettledIntents(harness: Harness, options: Options): Promise<Result[]> {
  const results: Result[] = [];
  const runClient = async (client: number) => {
    for (let round = 0; options.running.load; round++) {
      const prefix = `${options.prefix}-${client}-${round}`;
      for (const intent of await createIntents(harness, prefix, 10)) {
        if (options.running.load) results.push(await runIntent(intent, options));
      }
    }
  };
  await Promise.all(numbers(CLIENTS).map(runClient));
  for (const result of results) {
    if (result.settled?.member?.code !== 'ORPHANED') continue;
    const again = await result.settleAgain();
    if (typeof again !== 'string') result.settledAgain = again;
  }
  return results;
}

async function runIntent(intent: Intent, { urls, notesStarts, ageing }: Options): Promise<Result> {
  const pickUrl = () => urls()[Math.floor(Math.random() * urls().length)] ?? '';
  /** When the first request was sent of which no error says that nothing was executed. */
  let unanswered = Infinity;
  const age = () => Math.max(0, performance.now() - unanswered);
  const told: Told[] = [];
  const sentAt: number[] = [];
  const persistentUntil = Math.random() < PERSISTENT ? performance.now() + PERSISTENT_MS : 0;
  let refused: string | undefined;
  for (let n = 0; n < MAX_REPEATS || performance.now() < persistentUntil; n++) {
    const { first, last } = PATIENCE_MS;
    const timeoutMs = n === 0 && Math.random() < 0.5 ? first : last;
    const start = performance.now();
    sentAt.push(start);
    const one = await send(pickUrl(), intent, { isKeyed: true, timeoutMs, ageMs: age() });
    told.push(one);
    const olderMs = n === 0 && ageing ? await ageing() : 0;
    if (olderMs > 0) unanswered = start - olderMs;
    if (one.kind === 'refused') refused = one.code;
    // Only an error proves that nothing was executed: with an outcome, the intent keeps its age.
    const isUnavailable = one.kind === 'repeat' && one.reason === 'IDEMPOTENCY_UNAVAILABLE';
    if (one.kind !== 'refused' && !isUnavailable) unanswered = Math.min(unanswered, start);
    if (one.kind !== 'repeat') break;
    await sleep(50 + Math.random() * 200);
  }
  // Somewhere on the way, a copy of the last request waits, with the age that it was sent with.
  const ageMs = age();
  const isNoted = notesStarts || ageMs > 0;
  const sendCopy = async () => {
    await sleep(1000 + Math.random() * SLOW_WAY_MS);
    told.push(await send(pickUrl(), intent, { isKeyed: true, timeoutMs: 15_000, ageMs }));
  };
  const copied = isNoted && Math.random() < SLOW_COPIES && sendCopy();
  if (Math.random() < 0.5) await copied;
  let settled: Settled | undefined;
  const reasons: string[] = [];
  for (let end = performance.now() + SETTLED_WITHIN_MS; performance.now() < end; ) {
    const answer = await settleIntent(pickUrl(), intent, age(), SETTLE_TIMEOUT_MS);
    if (typeof answer !== 'string') {
      settled = answer;
      break;
    }
    reasons.push(answer);
    if (answer === 'no response') end = performance.now() + SETTLED_WITHIN_MS;
    await sleep(200);
  }
  const settleAgain = () => settleIntent(pickUrl(), intent, age(), SETTLE_TIMEOUT_MS);
  const keyed = { isKeyed: true, timeoutMs: PATIENCE_MS.last, ageMs: age() };
  const late = settled ? await send(pickUrl(), intent, keyed) : undefined;
  await copied;
  return { id: intent.id, told, refused, sentAt, settled, settleAgain, reasons, late };
}

/** The claims about settled intents, compared with what arrived at the service. */
export function rowsOfSettled(
  what: string,
  results: Result[],
  ledger: Ledger,
  { lossesAt, isAllKnown }: { lossesAt: number[]; isAllKnown: boolean },
): Row[] {
  const twice = results.filter(({ id }) => ledger.accepted(id).length > 1);
  const unsettled = results.filter(({ settled }) => settled === undefined);
  const contradictions = results.flatMap(({ id, told, refused, settled, settledAgain, late }) => {
    const arrivals = ledger.accepted(id).length;
    const members = told.flatMap((one) => (one.kind === 'member' ? one.member : []));
    const settlements = [settled, settledAgain].filter((one) => one !== undefined);
    const settledMembers = settlements.flatMap(({ member }) => member ?? []);
    const faults = [...members, ...settledMembers].flatMap(
      (member) => contradictionOf(id, { kind: 'member', member }, ledger) ?? [],
    );
    if (arrivals > 0 && settlements.some(({ member, isComplete }) => !member && isComplete)) {
      faults.push(
        `${id}: empty and complete, but ${arrivals} arrivals (${told.map(nameOf).join(', ')})`,
      );
    }
    if (refused) faults.push(`${id}: ${told.map(nameOf).join(', ')} before it was settled`);
    const isClosed = late?.kind !== 'refused' || late.code === 'IDEMPOTENCY_KEY_SETTLED';
    if (settled && !settled.member && late?.kind === 'member' && settled.isComplete) {
      faults.push(`${id}: empty and complete, but later ${nameOf(late)}`);
    }
    if (!isClosed) faults.push(`${id}: after settling ${nameOf(late)}`);
    return faults;
  });
  const answers = results.map(({ id, settled: first, settledAgain }) => {
    const settled = settledAgain ?? first;
    if (settled === undefined) return 'unsettled';
    if (settled.member?.code === 'ORPHANED' && ledger.accepted(id).length === 0) return NOT_SENT;
    if (settled.member) return settled.member.code ?? 'known outcome';
    return settled.isComplete ? 'not executed' : 'empty, not complete';
  });
  return [
    {
      claim: `${what}: no key with an age arrives twice`,
      measured: withExamples(
        `${twice.length} of ${results.length}`,
        twice.map((result) => timesOf(result, ledger, lossesAt)),
      ),
      holds: twice.length === 0 && results.length > 0,
    },
    {
      claim: `${what}: every intent ends settled, as it happened`,
      measured: withExamples(
        `${unsettled.length} unsettled, ${contradictions.length} contradictions of ${results.length}: ${tally(answers)}`,
        [...contradictions, ...unsettled.map(({ id, reasons }) => `${id}: ${tally(reasons)}`)],
      ),
      holds:
        unsettled.length === 0 &&
        contradictions.length === 0 &&
        !(isAllKnown && answers.includes(NOT_SENT)),
    },
  ];
}

/** Tells whether a request was on its way while the store lost its records, which is the case that remains possible. */
function timesOf({ id, sentAt, told }: Result, ledger: Ledger, lossesAt: number[]): string {
  const start = sentAt[0] ?? 0;
  const list = (times: number[]) => times.map((at) => Math.round(at - start)).join(', ');
  const arrivals = ledger.accepted(id).map(({ at }) => at);
  const near = lossesAt.filter((at) => at > start - 5000 && at < Math.max(...arrivals) + 5000);
  return `${id}: sent after ${list(sentAt)} ms (${told.map(nameOf).join(', ')}), arrived after ${list(arrivals)}, records lost after ${list(near)}`;
}
