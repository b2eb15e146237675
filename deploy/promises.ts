import { readFileSync } from 'node:fs';
import { ledger } from '../src/resolvers/ledger.ts';
import type { WireType } from '../src/upstream/wire-types.ts';

/** The parameters that each workflow action requires, which the schema cannot say. */
export function requiredByAction(): Record<string, readonly string[]> {
  const required = ledger.operations.flatMap(({ action, parameters }) => {
    const { required = [] }: WireType = parameters;
    return action === undefined ? [] : [[action, required] as const];
  });
  return Object.fromEntries(required);
}

/** The messages that the table of docs/reference/log-lines.md lists. */
export function logMessages(): string[] {
  const page = readFileSync(new URL('../docs/reference/log-lines.md', import.meta.url), 'utf8');
  const [, table = ''] = /^\| `msg` \(level\) .*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const cells = table.matchAll(/^\| (`.*?) \|/gm);
  return [...cells].flatMap(([, cell = '']) =>
    Array.from(cell.matchAll(/`([^`]+)`/g), ([, message = '']) => message),
  );
}
