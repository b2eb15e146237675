import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const claims = 'packages/at-most-once/src/claims.ts';
const completeness = 'packages/at-most-once/src/completeness.ts';
const protocol = 'packages/at-most-once/src/at-most-once.ts';
const store = 'packages/at-most-once/test/simulation/model-store.ts';
const schedule = 'packages/at-most-once/test/simulation/schedule.ts';

type Fault = [file: string, from: string, to: string, seed: number];

/**
 * Rules that can be taken out, to show that the simulation finds it: what the code says, what it says without, and the
 * first seed that finds it. That is another one when the simulation changes: run it with `--fault <name>` from seed 1.
 */
export const faults: Record<string, Fault> = {
  'no rule of age': [
    completeness,
    "return this.knows(intent) ? 'new' : 'forgotten'",
    "return 'new'",
    1,
  ],
  'no margin': [
    completeness,
    'this.#clockOffset - TRANSIT_MS - ageMs',
    'this.#clockOffset - ageMs',
    145,
  ],
  'no rule of retention': [completeness, 'now - content.retentionMs, earlier', '0', 4],
  'another server goes unnoticed': [
    completeness,
    'writtenOn === reading.serverId ||',
    'true ||',
    6,
  ],
  'another history goes unnoticed': [
    completeness,
    'if (history !== undefined && history !== reading.history) return false;',
    '',
    1702,
  ],
  'a new record of completeness is trusted': [
    completeness,
    '(found?.id === known.id && isFrom(known)) || isCovered',
    'true',
    14356,
  ],
  'a change without its basis': [store, '|| !isBasis', '', 134],
  'a late change is made': [store, "if (this.#now > basis.validUntil) return 'basis';", '', 51367],
  'a change of another version': [store, "!== expected) return 'other'", '!== expected) {}', 5],
  'a release does not replace': [
    claims,
    'return { next: replaced, result: undefined };',
    'return { result: undefined };',
    572,
  ],
  'an orphaned claim is freed': [claims, 'if (write.isOrphaned) {', 'if (false) {', 1858],
  'an orphan is reported before it is marked': [
    claims,
    "return { next, result: { state: 'orphaned'",
    "return { result: { state: 'orphaned'",
    8,
  ],
  'a late release closes the key': [
    claims,
    'if (write.isOrphaned) {',
    'if (write.isOrphaned || write.leaseEnd <= this.#completeness.now) {',
    164,
  ],
  'a lease lasts until a clock has caught up': [
    claims,
    'Math.abs(now - claimedAt) >= leaseEnd - claimedAt',
    'leaseEnd <= now',
    151,
  ],
  'each settled key is certain': [
    claims,
    'if (content.isComplete) throw',
    'if (content.isSettled) throw',
    77,
  ],
  'a settled key stays open': [claims, "content.isSettled ? 'forgotten' : this", 'this', 34],
  'a claim without a reply is not released': [
    protocol,
    'if (error instanceof ReplyLost) void this.#release(claim);',
    '',
    65,
  ],
  'an execution without effect keeps its key': [
    protocol,
    'if (this.#options.isWithoutEffect?.(error))',
    'if (false)',
    45,
  ],
  'a copy of a request that got an error': [
    schedule,
    '#firstOf(responses, isError)',
    '#firstOf(responses)',
    288,
  ],
  'the age 0 after settling': [
    schedule,
    'isError: false }); // From',
    'isError: true }); // From',
    442,
  ],
};

/** Takes a rule out of the modules that are loaded from now on. */
export function putBack(name: string): void {
  const [file = '', from = '', to = ''] = faults[name] ?? [];
  const url = new URL(`../../../../${file}`, import.meta.url);
  const text = readFileSync(url, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} does not have once: ${from}`);
  registerHooks({
    load(loaded, context, next) {
      const result = next(loaded, context);
      return loaded === url.href ? { ...result, source: text.replace(from, () => to) } : result;
    },
  });
}
