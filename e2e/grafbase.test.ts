import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from '@jest/globals';
import { budgetsSdl, ledgerSdl, tripsSdl } from '../test/federation/composition.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { freePort } from '../testkit/port.ts';
import { testGatewayRestart } from './gateway-restart.ts';
import { testIdempotencyKeys } from './idempotency-keys.ts';
import { testLostKeys } from './lost-keys.ts';
import { send, startStack } from './stack.ts';
import { saveApprover } from './supergraph.ts';

/** npm has Grafbase for Linux on x64 alone. */
const isInstalled = process.platform === 'linux' && process.arch === 'x64';
const cli = () =>
  createRequire(import.meta.url).resolve('@grafbase/cli-x86_64-unknown-linux-musl/grafbase');

const example = readFileSync(
  new URL('../examples/federation/grafbase.toml', import.meta.url),
  'utf8',
);
const sdls = { ledger: ledgerSdl, trips: tripsSdl, budgets: budgetsSdl };

/** Lets Grafbase compose the subgraphs with the URLs of a supergraph, and starts it with a configuration. */
async function startGrafbase(supergraphSdl: string, config: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'grafbase-'));
  let toml = config;
  for (const [name, sdl] of Object.entries(sdls)) {
    const [, url = ''] = new RegExp(`name: "${name}", url: "([^"]+)"`).exec(supergraphSdl) ?? [];
    writeFileSync(join(folder, `${name}.graphql`), sdl);
    const addresses = `[subgraphs.${name}]\nurl = "${url}"\nschema_path = "${name}.graphql"\n`;
    const table = new RegExp(`\\[subgraphs\\.${name}\\]\nurl = .*\nschema_path = .*\n`);
    toml = table.test(toml) ? toml.replace(table, addresses) : `${toml}\n${addresses}`;
  }
  writeFileSync(join(folder, 'grafbase.toml'), toml);
  const address = `127.0.0.1:${await freePort()}`;
  const args = ['--home', folder, 'dev', '--config', 'grafbase.toml', '--listen-address', address];
  const child = spawn(cli(), args, { cwd: folder, env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'close');
  closeAfterTest(async () => {
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true });
  });
  const listening = Promise.withResolvers<string>();
  createInterface(child.stdout).on('line', (line) => {
    if (line.includes(`${address}/graphql`)) listening.resolve(`http://${address}/graphql`);
  });
  return Promise.race([
    listening.promise,
    exited.then(() => Promise.reject(new Error('Grafbase ended.'))),
  ]);
}

/** With the configuration that the docs give to platform teams. */
const start = (supergraphSdl: string) => startGrafbase(supergraphSdl, example);

const restart = 'mutation { workflowAction(action: RESTART) { __typename } }';

(isInstalled ? describe : describe.skip)('Grafbase', () => {
  testIdempotencyKeys(start);
  testLostKeys(start, (supergraphSdl) =>
    startGrafbase(supergraphSdl, example.replace('|idempotency-key|idempotency-key-age', '')),
  );
  testGatewayRestart(start);

  test('codes are found by their ids, with one request to the service', async () => {
    const id = '5/north-plant/4020';
    const stack = await startStack([], [id, '5/north-plant/9999']);
    const url = await start(stack.supergraphSdl);
    const query = '{ budgets { glCode { id name } } }';
    const { data, errors } = await send(url, await stack.token(), query);
    expect(errors).toBeUndefined();
    const suspense = { id: '5/north-plant/9999', name: 'Suspense account' };
    expect(data?.budgets).toEqual([{ glCode: { id, name: 'Packaging' } }, { glCode: suspense }]);
    expect(stack.calls).toHaveLength(1);
  });

  test('two equal mutations without a key at the same time are two mutations', async () => {
    const stack = await startStack();
    const url = await start(stack.supergraphSdl);
    const token = await stack.token();
    await Promise.all([send(url, token, restart), send(url, token, restart)]);
    expect(stack.calls).toHaveLength(2);
  });

  test('an error keeps its code and the request id of the client', async () => {
    const stack = await startStack();
    const url = await start(stack.supergraphSdl);
    const token = await stack.token({ scenario: 'http-403' });
    const { errors } = await send(url, token, restart, {}, { 'x-request-id': 'from-the-client' });
    expect(errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN', retryable: false, requestId: 'from-the-client' } },
    ]);
  });

  test('of a response that is not 200, only the status remains', async () => {
    const stack = await startStack();
    const url = await start(stack.supergraphSdl);
    const { errors } = await send(url, undefined, restart);
    const message = expect.stringContaining('401');
    expect(errors).toMatchObject([{ message, extensions: { code: 'SUBGRAPH_REQUEST_ERROR' } }]);
  });

  test('a CSV file close to our body limit is accepted', async () => {
    const stack = await startStack();
    const url = await start(stack.supergraphSdl);
    const contentBase64 = Buffer.alloc(12_000_000, 'a,b\n').toString('base64');
    const query =
      'mutation ($input: WorkflowCsvInput!) { uploadWorkflowCsv(input: $input) { __typename } }';
    const input = { fileName: 'a.csv', contentBase64 };
    const { data, errors } = await send(url, await stack.token(), query, { input });
    expect(errors).toBeUndefined();
    expect(data).toEqual({ uploadWorkflowCsv: { __typename: 'WorkflowCsvUploaded' } });
  });

  test('every number for an identifier is rejected, in a variable as well as in the document', async () => {
    const stack = await startStack();
    const url = await start(stack.supergraphSdl);
    const token = await stack.token();
    const save = (id: string) => `saveApprovers(approvers: [{ approverId: ${id} }]) { __typename }`;
    const ofVariable = `mutation ($id: ID) { ${save('$id')} }`;
    const isSaved = async (document: string, variables?: Record<string, unknown>) =>
      (await send(url, token, document, variables)).errors === undefined;

    expect(await isSaved(`mutation { ${save('5')} }`)).toBe(false);
    expect(await isSaved(ofVariable, { id: 5 })).toBe(false);
    expect(await isSaved(ofVariable, { id: JSON.rawJSON('9007199254740993') })).toBe(false);
    expect(stack.calls).toEqual([]);
    expect(await isSaved(`mutation { ${save('"5"')} }`)).toBe(true);
    expect(await isSaved(ofVariable, { id: '9007199254740993' })).toBe(true);
    expect(stack.calls).toHaveLength(2);
  });

  test('a variable of a list must not have a default', async () => {
    const { errors, sent } = await saveApprover(start, '1');
    expect(errors?.[0]?.extensions.code).toBe('OPERATION_VALIDATION_ERROR');
    expect(sent).toEqual([]);
  });
});
