import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { variables } from '../../src/config/config.ts';
import { prefixOf, serviceNames, variablesOf } from '../../src/config/service-settings.ts';

const read = (page: string) =>
  readFileSync(new URL(`../../docs/reference/${page}`, import.meta.url), 'utf8');
const page = read('configuration.md');

/** The rows of the tables: the variables, each with its default in backticks, or a word. */
const documented = new Map(
  [...page.matchAll(/^\| `([A-Z_]+)` \| (?:`([^`]*)`|(\w+)[^|]*) \| .+ \|$/gm)].map(
    ([, name = '', value, word = '']) => [name, value ?? word] as const,
  ),
);

/** Variables that the SDK of OpenTelemetry reads by itself. */
const ofSdk = [...documented.keys()].filter((name) => name.startsWith('OTEL_'));

const further = serviceNames.filter((name) => name !== 'ledger');
const ofFurther = new Set(further.flatMap((name) => Object.keys(variablesOf(name))));
const own = Object.entries(variables).filter(([name]) => !ofFurther.has(name));

test('the page has every variable, and no other', () => {
  const known = new Set([...own.map(([name]) => name), ...ofSdk]);
  expect(new Set(documented.keys())).toEqual(known);
});

test('the page names the prefix of each further service, whose variables are those of the ledger', () => {
  const missing = further.map(prefixOf).filter((prefix) => !page.includes(`\`${prefix}`));
  expect(missing).toEqual([]);
});

test('the page names the settings of the files of each further service', () => {
  const metrics = read('metrics.md');
  const settings = further.map((name) => prefixOf(name).replace('UPSTREAM_', '').toLowerCase());
  const names = settings.flatMap((word) => [`${word}tls`, `${word}headers`]);
  expect(names.filter((name) => !metrics.includes(`\`${name}\``))).toEqual([]);
});

test('the first sentences name every variable that is required', () => {
  const [, first = ''] = page.split('\n\n');
  const required = Object.entries(variables).filter(
    ([, type]) => !type.safeParse(undefined).success,
  );
  const named = [...first.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual(required.map(([name]) => name).sort());
});

const settings = own.flatMap(([name, schema]) => {
  const { data } = schema.safeParse(undefined);
  if (data === undefined || name.startsWith('OTEL_')) return [];
  return [[name, data === true ? 'on' : String(data)] as const];
});

test.each(settings)('the default of %s is %s', (name, value) => {
  const written = documented.get(name);
  const empty = value === '' ? 'none' : value;
  expect(name === 'WORKFLOW_ACTIONS' ? 'all' : empty).toBe(written);
});
