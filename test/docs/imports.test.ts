import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const src = new URL('../../src/', import.meta.url).pathname;

/**
 * What each folder of src/ may import: other folders or single files of src/, and packages that only some
 * folders use. A folder imports itself, `request-scope.ts` and every other package freely.
 */
const allowed: Record<string, string> = {
  lib: '',
  account: 'errors/gateway-error.ts lib',
  errors: 'lib',
  telemetry: 'errors/gateway-error.ts node:http',
  auth: 'errors lib jose node:http telemetry/metrics.ts',
  upstream: 'account errors/gateway-error.ts lib telemetry got undici node:http',
  idempotency: 'account/gate.ts account/shares.ts errors/gateway-error.ts lib telemetry upstream',
  resolvers:
    'errors/gateway-error.ts errors/input-fault.ts generated graphql/context.ts idempotency/recorded-outcome.ts upstream/operations.ts upstream/records.ts upstream/upstream-error.ts graphql',
  graphql:
    'account graphql-request.ts errors idempotency/settle.ts lib resolvers/index.ts resolvers/gl-code-reference.ts telemetry upstream graphql @apollo',
  generated: 'graphql/context.ts graphql',
  http: 'account auth/authenticate.ts graphql-request.ts errors lib telemetry fastify @fastify node:http',
};

/** Packages that a folder may import only if its list names them. */
const restricted = 'graphql @apollo fastify @fastify got undici jose node:http'.split(' ');

const files = globSync('*/**/*.ts', { cwd: src });

test.each(files)('%s imports only what its folder may import', (file) => {
  const [folder = ''] = file.split('/');
  if (allowed[folder] === undefined) throw new Error(`Add ${folder}/ to the table`);
  const rules = allowed[folder].split(' ').filter(Boolean);
  const forbidden = importsOf(file).filter((target) => {
    const isOwn = target.startsWith(`src/${folder}/`) || target === 'src/request-scope.ts';
    if (target.startsWith('src/')) {
      return !isOwn && !rules.some((rule) => isInside(target, `src/${rule}`));
    }
    const isRestricted = restricted.some((name) => isInside(target, name));
    return isRestricted && !rules.some((rule) => isInside(target, rule));
  });
  expect(forbidden).toEqual([]);
});

test('no files import values in a circle', () => {
  let left = globSync('**/*.ts', { cwd: src });
  const types = /^import type [^;]*;|\btype \w+,?|^import \{\s*\} from .*/gm;
  const usesOthers = (file: string) =>
    importsOf(file, types).some((target) => left.includes(target.replace('src/', '')));
  for (let before = Infinity; left.length < before; ) {
    before = left.length;
    left = left.filter(usesOthers);
  }
  expect(left).toEqual([]);
});

/** What a file imports: files as `src/…`, packages by name. `ignored` is not looked at. */
function importsOf(file: string, ignored = /$^/): string[] {
  const text = readFileSync(join(src, file), 'utf8').replace(ignored, '');
  return [...text.matchAll(/(?:from|import)\s*\(?'([^']+)'/g)].map(([, target = '']) =>
    target.startsWith('.') ? join('src', file, '..', target) : target,
  );
}

function isInside(target: string, name: string): boolean {
  return target === name || target.startsWith(`${name}/`);
}
