import { readFileSync } from 'node:fs';
import { WorkflowAction } from '../src/generated/resolvers.ts';
import { operations } from '../src/upstream/operations.ts';
import type { WireType } from '../src/upstream/wire-types.ts';

/** The parameters that each workflow action requires, which the schema cannot say. */
export function requiredByAction(): Record<string, readonly string[]> {
  const required = Object.entries(WorkflowAction).map(([action, operation]) => {
    const { required = [] }: WireType = operations[operation].parameters;
    return [action, required] as const;
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
