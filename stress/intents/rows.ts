import type { Row } from '../harness.ts';
import { percentile, tally, withExamples } from '../statistics.ts';
import { contradictionOf, type History, nameOf, textOf } from './history.ts';
import type { Ledger } from './ledger.ts';

/** Final responses to an intent: two through HAProxy, and one from each gateway. */
const FINALS = 4;

/** The claims about intents that were repeated with their key. */
export function rowsOfIntents(
  histories: History[],
  ledger: Ledger,
  expected: number,
  maxRequests: number,
): Row[] {
  return [
    rowOfArrivals(histories, ledger),
    rowOfAgreement(histories),
    rowOfFacts(histories, ledger),
    rowOfEnd(histories, expected, maxRequests),
    rowOfUnknown(histories),
  ];
}

function rowOfArrivals(histories: History[], ledger: Ledger): Row {
  const counts = histories.map(({ id }) => ledger.accepted(id).length);
  const accepted = counts.reduce((sum, count) => sum + count, 0);
  const all = histories.flatMap(({ id }) => ledger.arrivals.get(id) ?? []).length;
  const requests = histories.flatMap(({ finals, reasons }) => [...finals, ...reasons]).length;
  const most = Math.max(...counts);
  return {
    claim: 'each key: at most one arrival at the service, besides those it refuses with 400',
    measured: `${histories.length} keys in ${requests} requests: ${accepted} arrivals, at most ${most} per key (and ${all - accepted} refused)`,
    holds: most === 1,
  };
}

/**
 * A refusal frees the key, so that later requests may get another response. From the first recorded outcome on,
 * all must be equal. A record that replaced `ORPHANED` is counted by itself.
 */
function rowOfAgreement(histories: History[]): Row {
  const recorded = histories.map(({ id, finals }) => {
    const first = finals.findIndex(({ kind }) => kind === 'member');
    return { id, finals: first < 0 ? [] : finals.slice(first) };
  });
  const differing = recorded.filter(({ finals }) => new Set(finals.map(textOf)).size > 1);
  const replaced = differing.filter(({ finals }) =>
    finals.some((final) => nameOf(final).endsWith(' ORPHANED')),
  );
  const responses = histories.flatMap(({ finals }) => finals).length;
  return {
    claim: 'all repeats of a key agree, on both gateways',
    measured: withExamples(
      `${responses} final responses, ${differing.length} keys with different ones (${replaced.length} of them ORPHANED first)`,
      differing.map(({ id, finals }) => `${id}: ${finals.map(textOf).join(' / ')}`),
    ),
    holds: differing.length === 0,
  };
}

function rowOfFacts(histories: History[], ledger: Ledger): Row {
  const contradictions = histories.flatMap(({ id, finals, contradictions }) => [
    ...contradictions,
    ...finals.flatMap((final) => contradictionOf(id, final, ledger) ?? []),
  ]);
  const known = histories.flatMap(({ finals: [first] }) => (first ? nameOf(first) : []));
  return {
    claim: 'what the client was told is what happened',
    measured: withExamples(
      `${contradictions.length} contradictions (${tally(known.filter((name) => !name.includes(' ')))})`,
      contradictions,
    ),
    holds: contradictions.length === 0,
  };
}

function rowOfEnd(histories: History[], expected: number, maxRequests: number): Row {
  const known = histories.filter(({ finals }) => finals.length === FINALS);
  const requests = known.map((history) => history.requests);
  const reasons = histories.flatMap((history) => history.reasons);
  return {
    claim: `every client learns the final outcome within ${maxRequests} requests`,
    measured: `${known.length} of ${expected}, after p50 ${percentile(requests, 0.5)}, p99 ${percentile(requests, 0.99)}, at most ${Math.max(...requests)} requests (repeated after ${tally(reasons)})`,
    holds: known.length === expected,
  };
}

function rowOfUnknown(histories: History[]): Row {
  const names = histories.flatMap(({ finals: [first] }) => (first ? nameOf(first) : []));
  const prefix = 'LedgerOutcomeUnknown ';
  const codes = names.flatMap((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : []));
  const share = (codes.length / names.length) * 100;
  return {
    claim: 'LedgerOutcomeUnknown by code: every final code occurs',
    measured: `${share.toFixed(1)} % of ${names.length}: ${tally(codes)}`,
    holds: new Set(codes).size === 5,
  };
}
