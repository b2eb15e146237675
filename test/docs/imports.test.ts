import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parseSync, type StaticImport } from 'oxc-parser';

const src = new URL('../../src/', import.meta.url).pathname;

/** The product: the parts below get it as one value, so that a change of the product ends here. */
const topFloor = ['src/resolvers/', 'src/upstream/declarations.ts', 'src/generated/'];
/** The only files below that import the top floor. */
const doors = ['gateway.ts', 'command-line.ts'];

/**
 * What each folder of src/ may import: other folders (`lib/`) or single files of src/, and packages that only some
 * folders use. A folder imports itself, `request-scope.ts`, `request-state.ts` and every other package freely. The top floor
 * may import what it uses of the parts below.
 */
const allowed: Record<string, string> = {
  lib: '',
  admission: 'errors/gateway-error.ts lib/',
  errors: 'lib/',
  telemetry: 'errors/gateway-error.ts node:http',
  audit: 'errors/gateway-error.ts lib/ telemetry/ upstream/',
  auth: 'errors/ lib/ jose node:http telemetry/metrics.ts',
  upstream:
    'admission/ errors/gateway-error.ts errors/input-fault.ts lib/ telemetry/ got undici node:http',
  idempotency: 'admission/gate.ts errors/gateway-error.ts lib/ telemetry/ upstream/',
  graphql:
    'admission/ errors/ idempotency/idempotent-call.ts lib/ telemetry/ upstream/ graphql @apollo',
  http: 'admission/ auth/authenticate.ts errors/ lib/ telemetry/ fastify @fastify node:http',
  config:
    'auth/ errors/gateway-error.ts lib/ policy/ telemetry/ upstream/operations.ts upstream/transport/ jose',
  connect:
    'audit/audit-output.ts auth/ config/ lib/short-text.ts upstream/operations.ts upstream/transport/response-marks.ts node:http',
  policy:
    'lib/strict-json.ts telemetry/line-limit.ts upstream/call.ts upstream/operations.ts upstream/upstream-error.ts',
  resolvers:
    'errors/ graphql/argument-checks.ts graphql/entities.ts graphql/loaders.ts graphql/schema.ts lib/ upstream/ generated/ graphql',
  generated: 'graphql/request-context.ts resolvers/gl-code.ts graphql',
};

/** Packages that a folder may import only if its list names them. */
const restricted = 'graphql @apollo fastify @fastify got undici jose node:http'.split(' ');

const files = globSync('**/*.ts', { cwd: src });

test('only the composition and the command line import the product', () => {
  const isTop = (target: string) => topFloor.some((part) => target.startsWith(part));
  const below = files.filter((file) => !isTop(`src/${file}`));
  expect(below.filter((file) => importsOf(file).some(isTop)).sort()).toEqual(doors.toSorted());
});

describe.each(files.filter((file) => file.includes('/')))('%s', (file) => {
  const [own = ''] = file.split('/');
  const folder = topFloor.includes(`src/${file}`) ? 'resolvers' : own;
  const rules = (allowed[folder] ?? '').split(' ').filter(Boolean);

  test('imports only what its folder may import', () => {
    if (allowed[folder] === undefined) throw new Error(`Add ${folder}/ to the table`);
    const free = [`${folder}/`, 'request-scope.ts', 'request-state.ts', ...rules].map(
      (name) => `src/${name}`,
    );
    const isFree = (target: string) =>
      free.some((name) => target === name || (name.endsWith('/') && target.startsWith(name)));
    const targets = importsOf(file).filter((target) => target.startsWith('src/'));
    expect(targets.filter((target) => !isFree(target))).toEqual([]);
  });

  test('imports and loads only packages that its folder may import', () => {
    const targets = [...importsOf(file), ...loadedBy(file)];
    const packages = targets.filter((target) => isOf(target, restricted));
    expect(packages.filter((target) => !isOf(target, rules))).toEqual([]);
  });
});

test('the picture of the architecture has an arrow for each folder that another one may import', () => {
  const page = readFileSync(join(src, '../docs/explanation/architecture.md'), 'utf8');
  const [, section = ''] = page.split('\n## Which part may use which\n');
  const [picture = ''] = section.split('\n## ');
  const drawn = new Set([...picture.matchAll(/^ {4}(\w+)\["/gm)].map(([, name = '']) => name));
  const arrows = [...picture.matchAll(/^ {2}(\w+) --> (\w+)$/gm)].map(([, from, to]) => [from, to]);
  const mayImport = Object.entries(allowed).flatMap(([from, rules]) =>
    [...new Set(rules.split(' ').map((rule) => rule.replace(/\/.*/, '')))]
      .filter((to) => to !== from && drawn.has(from) && drawn.has(to))
      // `graphql` is a package, too.
      .filter((to) => rules.includes(`${to}/`))
      .map((to) => [from, to]),
  );
  const ofPackage = ['idempotency', 'atMostOnce'];
  expect(arrows.toSorted()).toEqual([...mayImport, ofPackage].toSorted());
});

test('the package that executes an intent at most once imports nothing of the gateway', () => {
  const folder = join(src, '../packages/at-most-once/src');
  const imported = globSync('**/*.ts', { cwd: folder }).flatMap((file) =>
    importsOf(join('../packages/at-most-once/src', file)),
  );
  const own = ['packages/at-most-once/src/', '@redis/client', 'dataloader', 'node:', 'pg', 'zod'];
  expect(imported.filter((target) => !own.some((name) => target.startsWith(name)))).toEqual([]);
});

test('the explorer is loaded only where it is switched on', () => {
  const importing = files.filter((file) =>
    /^import (?!type).*\/explorer\.ts'/m.test(readFileSync(join(src, file), 'utf8')),
  );
  expect(importing).toEqual([]);
});

test('no files import each other in a circle', () => {
  let left = files;
  const imports = new Map(files.map((file) => [file, importsOf(file)]));
  for (let before = Infinity; left.length < before; ) {
    before = left.length;
    // A file outside of every circle imports none of those left, or is imported by none of them.
    left = left.filter(
      (file) =>
        imports.get(file)?.some((target) => left.includes(target.replace('src/', ''))) &&
        left.some((other) => imports.get(other)?.includes(`src/${file}`)),
    );
  }
  expect(left).toEqual([]);
});

test('only the tests of admission, and what creates it for other tests, import src/admission', () => {
  const tests = globSync('{test,testkit}/**/*.ts', { cwd: join(src, '..') });
  const importers = tests.filter((file) =>
    readFileSync(join(src, '..', file), 'utf8').includes('/src/admission/'),
  );
  const others = importers.filter((file) => !file.startsWith('test/admission/'));
  expect(others.filter((file) => file !== 'test/docs/imports.test.ts')).toEqual([
    'test/support/admission.ts',
  ]);
});

/** What is loaded with a file: whatever it imports as a value, and what that imports. */
function loadedBy(file: string, seen = new Set<string>()): Set<string> {
  for (const target of importsOf(file, ({ entries }) => !isOfTypes(entries))) {
    if (seen.has(target)) continue;
    seen.add(target);
    if (target.startsWith('src/')) loadedBy(target.replace('src/', ''), seen);
  }
  return seen;
}

const isOfTypes = (entries: StaticImport['entries']) =>
  entries.length > 0 && entries.every(({ isType }) => isType);

/** What a file imports: files as `src/…`, packages by name. */
function importsOf(file: string, isWanted: (one: StaticImport) => boolean = () => true): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  const { module } = parseSync(file, text);
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) =>
    text.slice(start + 1, end - 1),
  );
  const names = module.staticImports.filter(isWanted).map((one) => one.moduleRequest.value);
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
  );
  return [...names, ...exported, ...dynamic].map((name) =>
    name.startsWith('.') ? join('src', file, '..', name) : name,
  );
}

/** Whether a target is one of these packages, or a part of one. */
function isOf(target: string, packages: string[]): boolean {
  return packages.some((name) => target === name || target.startsWith(`${name}/`));
}
