import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { closeAfterTest } from '../test/support/cleanup.ts';
import { faultCases, impatient, startFaultStack } from '../test/support/client-faults.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

const schema = 'schema.client.graphql';
const graphql = 'graphql@16.15.0';

const relayConfig = {
  src: '.',
  schema,
  language: 'typescript',
  useImportTypeSyntax: true,
  excludes: ['**/node_modules/**'],
};

type Project = {
  readonly clients: readonly string[];
  readonly packages: readonly string[];
  readonly files: readonly string[];
  /** Generate types. */
  readonly commands: readonly (readonly string[])[];
};

const projects: Project[] = [
  // Without a package that ours might need.
  { clients: ['fetch'], packages: [], files: ['first-mutation.ts'], commands: [] },
  {
    clients: ['apollo', 'urql', 'relay', 'gql-tada', 'graphql-request'],
    packages: [
      ...['@apollo/client@4.3.8', 'rxjs@7.8.2', '@urql/core@6.0.3', 'gql.tada@1.11.3', graphql],
      'graphql-request@7.4.0',
      ...['relay-runtime@21.0.1', 'relay-compiler@21.0.1', '@types/relay-runtime@20.1.1'],
    ],
    files: ['relay-restart.ts'],
    commands: [['relay-compiler'], ['gql.tada', 'generate-output']],
  },
];

const compilerOptions = {
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  noEmit: true,
  plugins: [{ name: 'gql.tada/ts-plugin', schema, tadaOutputLocation: 'graphql-env.d.ts' }],
};

let tarball: string;

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-client-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  return folder;
}

beforeAll(async () => {
  const folder = await createFolder();
  const pack = ['pack', '--pack-destination', folder, '--json'];
  const { stdout } = await run('npm', pack, { cwd: join(root, 'packages/client') });
  const [, name] = /"filename": "([^"]+)"/.exec(stdout) ?? [];
  tarball = join(folder, name ?? 'nothing was packed');
});

/** Creates a project that has the package as npm installs it, and checks its types. */
async function createProject({ clients, packages, files, commands }: Project): Promise<string> {
  const cwd = await createFolder();
  const examples = [...clients.map((name) => `${name}.ts`), ...files];
  const tsconfig = { compilerOptions, files: examples };
  await writeFile(join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
  await writeFile(join(cwd, 'tsconfig.json'), JSON.stringify(tsconfig));
  await writeFile(join(cwd, 'relay.config.json'), JSON.stringify(relayConfig));
  await copyFile(join(root, schema), join(cwd, schema));
  await copyFile(join(root, 'e2e/wiring/run.ts'), join(cwd, 'run.ts'));
  for (const file of [...examples, 'operation.ts']) {
    await copyFile(join(root, 'packages/client/examples', file), join(cwd, file));
  }
  const tools = ['typescript@5.9.3', '@types/node@24.19.2'];
  const install = ['install', '--no-audit', '--no-fund', tarball, ...packages, ...tools];
  await run('npm', install, { cwd });
  for (const command of [...commands, ['tsc']]) await run('npx', [...command], { cwd });
  return cwd;
}

test('publint and arethetypeswrong find nothing in the package, which has ES modules only', async () => {
  const cwd = await createFolder();
  const tools = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5'];
  await run('npm', ['install', '--no-audit', '--no-fund', ...tools], { cwd });
  const { stdout } = await run('npx', ['publint', '--strict', tarball], { cwd });
  expect(stdout).toContain('All good!');
  await run('npx', ['attw', '--profile', 'esm-only', tarball], { cwd });
}, 120_000);

describe.each(projects)('$clients', (project) => {
  let cwd: string;
  beforeAll(async () => {
    cwd = await createProject(project);
  }, 300_000);

  describe.each(project.clients)('%s', (client) => {
    let stack: Awaited<ReturnType<typeof startFaultStack>>;
    let restart: () => Promise<unknown>;
    beforeAll(async () => {
      stack = await startFaultStack();
      const args = ['run.ts', `${client}.ts`, stack.url, stack.token, JSON.stringify(impatient)];
      const child = spawn(process.execPath, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
      closeAfterTest(() => child.kill());
      const results = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      restart = async () => {
        child.stdin.write('\n');
        return JSON.parse((await results.next()).value ?? '');
      };
    });

    test.each(faultCases)('survives $name', async ({ faults, result, arrivals }) => {
      stack.prepare(faults);
      expect(await restart()).toMatchObject(result as object);
      expect(stack.arrivals()).toBe(arrivals);
    });
  });
});
