import type { Intent } from './links/idempotency-link.ts';

/** A write whose outcome is not known. */
export type OpenWrite<Variables> = {
  readonly intent: Intent;
  /** Missing if they are too large to keep, such as the content of a file, or if the key is too old. */
  readonly variables?: Variables;
};

/** The gateway keeps a key for a day by default, and does the write again after that. In milliseconds. */
const KEY_MS = 23 * 60 * 60_000;

const itemOf = (field: string) => `open-write:${field}`;

/** Keeps a write over a reload of the page. Other tabs do not see it. */
export function keepOpenWrite<Variables>(field: string, write: OpenWrite<Variables>): void {
  try {
    sessionStorage.setItem(itemOf(field), JSON.stringify(write));
  } catch {
    sessionStorage.setItem(itemOf(field), JSON.stringify({ intent: write.intent }));
  }
}

/** The write that was open when the page was left. */
export function findOpenWrite<Variables>(field: string): OpenWrite<Variables> | undefined {
  const item = sessionStorage.getItem(itemOf(field));
  if (item === null) return undefined;
  const { intent, variables }: OpenWrite<Variables> = JSON.parse(item);
  const isKnown = variables !== undefined && Date.now() < intent.since + KEY_MS;
  // Its response may have arrived after the page was left.
  return { intent: { ...intent, responseLost: true }, ...(isKnown && { variables }) };
}

export function forgetOpenWrite(field: string): void {
  sessionStorage.removeItem(itemOf(field));
}
