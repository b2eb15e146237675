import { readFileSync, writeFileSync } from 'node:fs';
import { variables } from '../../testkit/config.ts';

/** What the templates of the chart know of a variable: a number with its bounds, or a list of some of these names. */
type Row = { what: string; min: number; max: number } | { names: string[] };

const file = new URL('../helm/settings.json', import.meta.url);

/** What the gateway says to a value of a variable. Undefined if it accepts it. */
export const faultOf = (name: string, value: string) =>
  Object.entries(variables)
    .find(([other]) => other === name)?.[1]
    .safeParse(value).error?.issues[0]?.message;

/** The rows of the variables that the chart can check by a table, from what the gateway says to a wrong value. */
function table(): Record<string, Row> {
  const rows = Object.keys(variables).flatMap((name): [string, Row][] => {
    const fault = faultOf(name, 'no such value') ?? '';
    const [, what = '', min, max] = /^must be (.+) from (\d+) to (\d+)\b/.exec(fault) ?? [];
    if (min !== undefined) return [[name, { what, min: Number(min), max: Number(max) }]];
    const names = /^must be a list of ([\w-]+(?:, [\w-]+)+)$/.exec(fault)?.[1];
    return names === undefined ? [] : [[name, { names: names.split(', ') }]];
  });
  return Object.fromEntries(rows);
}

const text = () => `${JSON.stringify(table(), undefined, 2)}\n`;

/** Throws unless the chart has the table. */
export function checkSettings(): void {
  if (readFileSync(file, 'utf8') !== text()) {
    throw new Error('run `node deploy/manifests/settings-table.ts`');
  }
}

// `node deploy/manifests/settings-table.ts` writes the table into the chart.
if (import.meta.main) writeFileSync(file, text());
