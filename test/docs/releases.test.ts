import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { buildSchema, findBreakingChanges, parse, validate } from 'graphql';
import { z } from 'zod';
import { logMessages, requiredByAction } from '../../deploy/promises.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';

/*
 * Version 1.x promises that what an app uses of 1.0 goes on working. A change that breaks that needs a new major version,
 * in package.json first (CONTRIBUTING.md).
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = join(root, 'test/fixtures/releases');
const client = join(root, 'packages/client/src');
const read = (path: string) => readFileSync(path, 'utf8');

const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(read(join(root, 'package.json'))));
const [major] = version.split('.');
const released = readdirSync(fixtures)
  .filter((name) => name.startsWith(`${major}.`))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
/** The last release with this major version. A new major version has none. */
const last = released.slice(-1).map((name) => [name, join(fixtures, name)] as const);

/** The function of a module that computes a type from its type arguments. The compiler can compare it only with arguments. */
const generic: Record<string, string> = { index: 'createWrite', react: 'useWrite' };

const schema = buildSchema(read(join(root, 'schema.client.graphql')));

test.each(last)('the schema of %s has only grown', (_, folder) => {
  const before = buildSchema(read(join(folder, 'schema.graphql')));
  expect(findBreakingChanges(before, schema)).toEqual([]);
});

test.each(released)('the document with which %s settles a key is valid', (name) => {
  const document = parse(read(join(fixtures, name, 'settle-document.graphql')));
  expect(validate(schema, document)).toEqual([]);
});

const promised = z.object({
  requiredByAction: z.record(z.string(), z.array(z.string())),
  logMessages: z.array(z.string()).min(20),
});
const promisesOf = (folder: string) =>
  promised.parse(JSON.parse(read(join(folder, 'promises.json'))));

test.each(last)('no workflow action requires more than in %s', (_, folder) => {
  const before = Object.entries(promisesOf(folder).requiredByAction);
  const now = requiredByAction();
  expect(before).not.toEqual([]);
  const isNew = (action: string, known: string[]) =>
    now[action]?.some((name) => !known.includes(name));
  expect(before.filter(([action, known]) => isNew(action, known))).toEqual([]);
});

test.each(last)('the log has all messages of %s', (_, folder) => {
  const now = logMessages();
  expect(promisesOf(folder).logMessages.filter((message) => !now.includes(message))).toEqual([]);
});

test.each(last)('apps that use the client package of %s compile', async (_, folder) => {
  const entries = ['index', 'react', 'testing', 'possible-types'].filter((name) =>
    existsSync(join(folder, `client/${name}.d.ts`)),
  );
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'package.json'), '{ "type": "module" }');
  for (const name of entries) {
    await writeFile(join(cwd, `${name}.ts`), usage(join(folder, `client/${name}.d.ts`), name));
  }
  const tsconfig = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      lib: ['es2024', 'dom', 'dom.iterable'],
      types: [],
      paths: { '@ledger-gateway/client': [join(client, 'index.ts')] },
    },
    include: ['*.ts', join(folder, 'samples/*.ts'), join(client, 'react-hooks.d.ts')],
  };
  await writeFile(join(cwd, 'tsconfig.json'), JSON.stringify(tsconfig));
  expect(await compile(cwd)).toBe('');
});

/** Code that has type errors if a module lacks an export of a release, or if one cannot take the place of that export. */
function usage(released: string, name: string): string {
  const text = read(released);
  const inline = [...text.matchAll(/^export type (\w+)/gm)].map(([, type]) => type);
  const listed = [...text.matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(
    ([, isType, list = '']) =>
      list.split(',').flatMap((each) => {
        const [, keyword, type] = /^\s*(type )?(\w+)\s*$/.exec(each) ?? [];
        return type && (isType || keyword) ? [type] : [];
      }),
  );
  const current = join(client, `${name}.ts`);
  return `
import type { ${[...inline, ...listed]} } from '${current}';
import type * as before from '${released}';
import * as now from '${current}';
export const others: Omit<typeof before, '${generic[name]}'> = now;
${generic[name] ? comparison(generic[name]) : ''}
`;
}

const comparison = (name: string) => `
type Save = { __typename: 'ApproversSaved' } | { __typename: 'LedgerFailed'; message: string };
export const ${name}: typeof before.${name}<'save', Save, { id: number }> = now.${name};
`;

/** What the compiler says of a project. */
async function compile(cwd: string): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return promisify(execFile)(process.execPath, [tsc, '--project', cwd, '--pretty', 'false']).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
}
