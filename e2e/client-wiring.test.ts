import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { closeAfterTest } from '../testkit/cleanup.ts';
import {
  type FaultCase,
  faultCases,
  impatient,
  startFaultStack,
} from '../testkit/client-faults.ts';
import { bundle } from './bundle.ts';
import { describeBrowsers, type Run } from './client-page.ts';

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
  { clients: ['fetch'], packages: [], files: ['first-mutation.ts', 'read-field.ts'], commands: [] },
  {
    clients: [
      ...['apollo', 'urql', 'relay', 'gql-tada', 'graphql-request'],
      ...['axios', 'villus', 'rtk-query'],
    ],
    packages: [
      ...['@apollo/client@4.3.8', 'rxjs@7.8.2', '@urql/core@6.0.3', 'gql.tada@1.11.3', graphql],
      ...['graphql-request@7.4.0', 'axios@1.21.1', '@reduxjs/toolkit@2.15.0'],
      ...['villus@3.5.2', 'vue@3.5.45'],
      ...['relay-runtime@21.0.1', 'relay-compiler@21.0.1'],
    ],
    // The last one checks the types that the others have with their clients.
    files: ['relay-restart.ts', 'fetch.ts', 'client-types.ts'],
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
  const pack = ['pack', '--ignore-scripts', '--pack-destination', folder, '--json'];
  const { stdout } = await run('npm', [...pack, join(root, 'packages/client')]);
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
  // A schema has no types.
  const options = '--profile esm-only --exclude-entrypoints schema.graphql'.split(' ');
  await run('npx', ['attw', tarball, ...options], { cwd });
}, 120_000);

const clients = [
  ...['fetch', 'apollo', 'urql', 'relay', 'graphql-request'],
  ...['axios', 'villus', 'rtk-query'],
];

const pageCode = `
${clients.map((name, index) => `import * as client${index} from './${name}.ts';`).join('\n')}
export const clients = { ${clients.map((name, index) => `'${name}': client${index}`)} };
export * from '@ledger-gateway/client';
export { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
export { commitMutation, Environment, Network, RecordSource, Store } from 'relay-runtime';
export { restartDocument } from './operation.ts';
export { default as relayMutation } from './__generated__/relayRestartMutation.graphql.ts';
`;

/** In the page: sends one write, or a second one as soon as the first has ended. Returns the states at the ends. */
async function write({ url, token, options, name = '', isDouble }: Run): Promise<unknown> {
  const { clients } = await import(`${location.origin}/index.js`);
  sessionStorage.clear();
  const restart = clients[name].createRestart({ url, token: () => token, ...options });
  Object.assign(window, { cancel: restart.cancel });
  const submit = () =>
    new Promise((resolve) => {
      const unsubscribe = restart.subscribe(() => {
        const state = restart.getState();
        if (/sending|asking/.test(state.phase)) return;
        unsubscribe();
        resolve(state);
      });
      restart.submit();
    });
  const first = await submit();
  return isDouble ? [first, await submit()] : first;
}

/** In the page: sends a write with a client that can abort it, and asks about it if it is lost. Returns the phases. */
async function writeAborted({ url, token, options, name = '' }: Run): Promise<unknown> {
  const page = await import(`${location.origin}/index.js`);
  sessionStorage.clear();
  const ledger = { url, token: () => token, ...options };
  const ledgerFetch = page.createLedgerFetch(ledger);
  const leave = new AbortController();
  const { signal } = leave;
  Object.assign(window, { cancel: () => leave.abort() });
  const apollo = new page.ApolloClient({
    link: new page.HttpLink({ uri: url, fetch: ledgerFetch }),
    cache: new page.InMemoryCache(),
  });
  const mutation = page.gql(page.restartDocument);
  const senders: Record<string, (headers: object) => Promise<unknown>> = {
    apollo: (headers) =>
      apollo.mutate({
        mutation,
        errorPolicy: 'all',
        context: { headers, fetchOptions: { signal } },
      }),
    relay: (headers) =>
      new Promise((resolve) => {
        const network = page.Network.create(async ({ text }: { text: string }) => {
          const body = JSON.stringify({ query: text });
          const type = { 'content-type': 'application/json' };
          const init = { method: 'POST', headers: { ...headers, ...type }, body, signal };
          return (await ledgerFetch(url, init)).json();
        });
        const store = new page.Store(new page.RecordSource());
        page.commitMutation(new page.Environment({ network, store }), {
          mutation: page.relayMutation,
          variables: {},
          onCompleted: (data: unknown, errors: unknown) => resolve({ data, errors }),
          onError: (error: unknown) => resolve({ error }),
        });
      }),
  };
  const restart = page.createWrite({ ...ledger, field: 'workflowAction', send: senders[name] });
  const phases: string[] = [];
  return new Promise((resolve) => {
    restart.subscribe(() => {
      const { phase, result } = restart.getState();
      phases.push(result ? `${phase}: ${result.kind}` : phase);
      if (phase === 'unknown') restart.askAgain();
      else if (!/sending|asking/.test(phase)) resolve(phases);
    });
    restart.submit();
  });
}

/** In the page: cancels or aborts the write. */
const cancel = () => void Reflect.get(window, 'cancel')();

const errorResponse = (code: string, extensions: object) => {
  const errors = [{ message: '', path: ['workflowAction'], extensions: { code, ...extensions } }];
  const headers = { 'content-type': 'application/json' };
  return { status: 200, headers, body: JSON.stringify({ data: { workflowAction: null }, errors }) };
};

const done = { phase: 'done' };
const failed = (code: string) => ({ phase: 'failed', error: { code } });
const proxyResponse = (status: number) => ({ status, body: `<h1>${status}</h1>` });

/** What each client has to survive in each browser. The second cut is for a browser that repeats the request itself. */
const browserCases: readonly (FaultCase & { readonly run?: Partial<Run> })[] = [
  ...[
    'UPSTREAM_BAD_REQUEST',
    'UPSTREAM_UNAVAILABLE',
    'IDEMPOTENCY_KEY_REUSED',
    'BAD_USER_INPUT',
  ].map((code) => ({
    name: `${code} after a lost attempt`,
    faults: ['cut', 'cut', errorResponse(code, { requestId: '7' })] as const,
    result: done,
    arrivals: 1,
  })),
  {
    name: 'an error of a router, which has no requestId',
    faults: [{ ...errorResponse('INTERNAL_SERVER_ERROR', {}), isServed: true }],
    result: done,
    arrivals: 1,
  },
  {
    // It may be the answer to a repeat of the browser, and settling gets it, too.
    name: 'a 401 for every request',
    faults: [],
    result: { phase: 'unknown', mayAsk: true },
    arrivals: 0,
    run: { token: 'none' },
  },
  { name: 'a 403', faults: [proxyResponse(403)], result: failed('HTTP_403'), arrivals: 0 },
  { name: 'a 413', faults: [proxyResponse(413)], result: failed('HTTP_413'), arrivals: 0 },
  {
    name: 'a double click',
    faults: [],
    result: [done, done],
    arrivals: 1,
    run: { options: { ...impatient, doubleClickMs: 5_000 }, isDouble: true },
  },
];

/** With these, only cancelling ends an attempt. */
const patient = { ...impatient, attemptMs: 1_000_000, patienceMs: 1_000_000 };

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
      const args = ['run.ts', `${client}.ts`, stack.url, stack.token];
      const child = spawn(process.execPath, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
      closeAfterTest(() => child.kill());
      const results = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      restart = async () => {
        child.stdin.write(`${JSON.stringify(stack.options)}\n`);
        return JSON.parse((await results.next()).value ?? '');
      };
    });

    test.each(faultCases)('survives $name', async ({ faults, result, arrivals }) => {
      stack.prepare(faults);
      expect(await restart()).toMatchObject(result as object);
      expect(stack.arrivals()).toBe(arrivals);
    });
  });

  // The page has all clients, which only the second project has.
  if (project.files.includes('first-mutation.ts')) return;
  describeBrowsers(
    async () => ({ 'index.js': await bundle(pageCode, { folder: cwd }) }),
    ({ test, stack, evaluate, reload }) => {
      describe.each(clients)('%s', (name) => {
        test.each(browserCases)('survives $name', async ({ faults, result, arrivals, run }) => {
          // Otherwise, it joins the write of the case before.
          if (run?.isDouble) await reload();
          stack().prepare(faults);
          expect(await evaluate(write, { name, ...run })).toMatchObject(result as object);
          expect(stack().arrivals()).toBe(arrivals);
        });

        test.each([
          ['stall', failed('IDEMPOTENCY_KEY_SETTLED'), 0],
          ['hang', done, 1],
        ] as const)('is cancelled during a %s', async (fault, result, arrivals) => {
          stack().prepare([fault]);
          const state = evaluate(write, { name, options: patient });
          await stack().requested();
          if (arrivals) await stack().arrived();
          await evaluate(cancel);
          await stack().requests[0]?.closed;
          expect(await state).toMatchObject(result);
          expect(stack().arrivals()).toBe(arrivals);
        });
      });

      test.each(['apollo', 'relay'])(
        '%s: an aborted write is lost, and asked about',
        async (name) => {
          stack().prepare(['hang']);
          const phases = evaluate(writeAborted, { name, options: patient });
          await stack().arrived();
          await evaluate(cancel);
          expect(await phases).toEqual(['sending', 'unknown: lost', 'asking', 'done']);
          expect(stack().arrivals()).toBe(1);
        },
      );
    },
  );
});
