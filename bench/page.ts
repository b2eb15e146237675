import { readFileSync, writeFileSync } from 'node:fs';
import type { Result } from './compare.ts';
import { plotOf } from './plot.ts';
import type { Suite } from './suites.ts';

const page = new URL('../docs/reference/benchmarks.md', import.meta.url);
const picture = new URL('../docs/cpu-by-callers.svg', import.meta.url);

/** Replaces the part of the page that shows a suite, and the picture if it shows this suite. */
export function writePage({ name, page: tablesOf }: Suite, results: Result[], how: string): void {
  const [start, end] = [`<!-- figures: ${name} -->`, '<!-- end of figures -->'];
  const text = readFileSync(page, 'utf8');
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`The page has no place for ${name}`);
  const part = `${start}\n${how}\n\n${tablesOf(results).trim()}\n`;
  writeFileSync(page, text.slice(0, from) + part + text.slice(to));
  if (name === 'callers') writeFileSync(picture, plotOf(results));
}
