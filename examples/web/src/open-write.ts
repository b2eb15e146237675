import type { Intent } from '@ledger-gateway/client';

/** A write whose outcome is not known. */
export type OpenWrite<Variables> = {
  readonly intent: Intent;
  /** What the user entered. Missing if it is large, such as the content of a file. */
  readonly variables?: Variables;
};

/** More characters than this are not kept. */
const LARGE = 100_000;

const itemOf = (field: string) => `open-write:${field}`;

/** Keeps a write over a reload of the page. Other tabs do not see it. */
export function keepOpenWrite<Variables>(
  field: string,
  { intent, variables }: OpenWrite<Variables>,
): void {
  const text = JSON.stringify({ intent, variables });
  const kept = text.length > LARGE ? JSON.stringify({ intent }) : text;
  sessionStorage.setItem(itemOf(field), kept);
}

/** The write that was open when the page was left. */
export function findOpenWrite<Variables>(field: string): OpenWrite<Variables> | undefined {
  const item = sessionStorage.getItem(itemOf(field));
  return item === null ? undefined : JSON.parse(item);
}

export function forgetOpenWrite(field: string): void {
  sessionStorage.removeItem(itemOf(field));
}
