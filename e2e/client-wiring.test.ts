import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

type Client = {
  readonly name: string;
  readonly packages: readonly string[];
  readonly files: readonly string[];
  /** Generates types. */
  readonly generate?: readonly string[];
};

const clients: Client[] = [
  { name: 'fetch', packages: [], files: ['first-mutation.ts'] },
  { name: 'apollo', packages: ['@apollo/client@4.3.8', 'rxjs@7.8.2', graphql], files: [] },
  { name: 'urql', packages: ['@urql/core@6.0.3', graphql], files: [] },
  {
    name: 'relay',
    packages: ['relay-runtime@21.0.1', 'relay-compiler@21.0.1', '@types/relay-runtime@20.1.1'],
    files: ['relay-restart.ts'],
    generate: ['relay-compiler'],
  },
  {
    name: 'gql-tada',
    packages: ['gql.tada@1.11.3', '@urql/core@6.0.3', graphql],
    files: [],
    generate: ['gql.tada', 'generate-output'],
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
async function createProject({ name, packages, files, generate }: Client): Promise<string> {
  const cwd = await createFolder();
  const tsconfig = { compilerOptions, files: [`${name}.ts`, ...files] };
  await writeFile(join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
  await writeFile(join(cwd, 'tsconfig.json'), JSON.stringify(tsconfig));
  await writeFile(join(cwd, 'relay.config.json'), JSON.stringify(relayConfig));
  await copyFile(join(root, schema), join(cwd, schema));
  await copyFile(join(root, 'e2e/wiring/run.ts'), join(cwd, 'run.ts'));
  for (const file of [`${name}.ts`, 'operation.ts', ...files]) {
    await copyFile(join(root, 'packages/client/examples', file), join(cwd, file));
  }
  const tools = ['typescript@5.9.3', '@types/node@24.19.2'];
  const install = ['install', '--no-audit', '--no-fund', tarball, ...packages, ...tools];
  await run('npm', install, { cwd });
  if (generate) await run('npx', [...generate], { cwd });
  await run('npx', ['tsc'], { cwd });
  return cwd;
}

describe.each(clients)('$name', (client) => {
  let cwd: string;
  let stack: Awaited<ReturnType<typeof startFaultStack>>;

  beforeAll(async () => {
    cwd = await createProject(client);
    stack = await startFaultStack();
  }, 300_000);

  test.each(faultCases)('survives $name', async ({ faults, result, arrivals }) => {
    const { url, token } = stack;
    stack.prepare(faults);
    const options = JSON.stringify(impatient);
    const args = ['run.ts', `${client.name}.ts`, url, token, options];

    const { stdout } = await run(process.execPath, args, { cwd });

    expect(JSON.parse(stdout)).toMatchObject(result as object);
    expect(stack.arrivals()).toBe(arrivals);
  });
});
