import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { variables } from '../../testkit/config.ts';

const page = readFileSync(
  new URL('../../docs/reference/configuration.md', import.meta.url),
  'utf8',
);

/** The rows of the tables: the variables, each with its default in backticks, or a word. */
const documented = new Map(
  [...page.matchAll(/^\| `([A-Z_]+)` \| (?:`([^`]*)`|(\w+)[^|]*) \| .+ \|$/gm)].map(
    ([, name = '', value, word = '']) => [name, value ?? word] as const,
  ),
);

/** Variables that the SDK of OpenTelemetry reads by itself. */
const ofSdk = [...documented.keys()].filter((name) => name.startsWith('OTEL_'));

test('the page has every variable, and no other', () => {
  const known = new Set([...Object.keys(variables), ...ofSdk]);
  expect(new Set(documented.keys())).toEqual(known);
});

test('the first sentences name every variable that is required', () => {
  const [, first = ''] = page.split('\n\n');
  const required = Object.entries(variables).filter(
    ([, type]) => !type.safeParse(undefined).success,
  );
  const named = [...first.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual(required.map(([name]) => name).sort());
});

const settings = Object.entries(variables).flatMap(([name, schema]) => {
  const { data } = schema.safeParse(undefined);
  if (data === undefined || name.startsWith('OTEL_')) return [];
  return [[name, data === true ? 'on' : String(data)] as const];
});

test.each(settings)('the default of %s is %s', (name, value) => {
  const written = documented.get(name);
  const empty = value === '' ? 'none' : value;
  expect(name === 'WORKFLOW_ACTIONS' ? 'all' : empty).toBe(written);
});
