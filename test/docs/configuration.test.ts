import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { variables } from '../../src/config/config.ts';
import { prefixOf, serviceNames, variablesOf } from '../../src/config/service-settings.ts';
import { type Declaration, declarations } from '../../src/upstream/declarations.ts';

const root = new URL('../../', import.meta.url);
const read = (page: string) => readFileSync(new URL(`docs/reference/${page}`, root), 'utf8');
const changelog = readFileSync(new URL('CHANGELOG.md', root), 'utf8');
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

test('the changelog and the row of UPSTREAM_VERSIONS name each version that can be selected', () => {
  const row = page.split('\n').find((line) => line.startsWith('| `UPSTREAM_VERSIONS` |'));
  const paths = Object.values<Declaration>(declarations).flatMap(({ versions = {} }) =>
    Object.keys(versions),
  );
  for (const text of [row ?? '', changelog]) {
    expect(paths.filter((path) => !text.includes(path))).toEqual([]);
  }
});

/** The paragraphs that set or list required variables, but not the base URL of this service, such as `docs/how-to/deploy.md: export …`. */
function paragraphsWithout(service: string): string[] {
  const name = `${prefixOf(service)}BASE_URL`;
  return globSync('{docs,deploy}/**/*.{md,yaml,json,service,tpl}', { cwd: root }).flatMap((path) =>
    readFileSync(new URL(path, root), 'utf8')
      .split(/\n\s*\n/)
      .filter((text) => /UPSTREAM_BASE_URL=|UPSTREAM_BASE_URL[\s\S]*JWT_ISSUER/.test(text))
      .filter((text) => !text.includes(name))
      .map((text) => `${path}: ${/.*UPSTREAM_BASE_URL.*/.exec(text)}`),
  );
}

test('the changelog, and whatever sets the required variables, set the base URL of each further service', () => {
  expect(paragraphsWithout('none').length).toBeGreaterThan(10); // It finds them.
  expect(further.flatMap(paragraphsWithout)).toEqual([]);
  const unnamed = further.filter((name) => !changelog.includes(`\`${prefixOf(name)}BASE_URL\``));
  expect(unnamed).toEqual([]);
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
