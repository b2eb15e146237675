import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { readFilesOften } from '../testkit/fast-timeouts.ts';
import { read } from '../testkit/graphql-operation.ts';
import { metric } from '../testkit/metric.ts';
import { json } from '../testkit/service.ts';
import { temporaryFile } from '../testkit/temporary-folder.ts';
import { createSigningKey } from './support/signing-key.ts';
import { startStack } from './support/stack.ts';

const settings = {
  UPSTREAM_HEADERS_FILE: 'headers',
  JWT_JWKS_FILE: 'keys',
  JWT_ISSUERS_FILE: 'keys',
  TRUSTED_DOCUMENTS: 'trusted_documents',
};

/** Starts a gateway with a setting in a file, which is read again often. */
async function startWithFile(variable: keyof typeof settings, text: string, variables = {}) {
  readFilesOften();
  const file = await temporaryFile(text);
  const { service, gateway } = await startStack(
    json({ status: 0, service_status: { status: 0 }, list: [] }),
    { [variable]: file, ...variables },
  );
  const isInUse = () =>
    metric(gateway, 'ledger_gateway_changed_files_applied', { setting: settings[variable] });
  expect(await isInUse()).toBe(1);
  /** Waits until the gateway has noticed a change. */
  const noticed = async (change: () => Promise<void>) => {
    gateway.logs.length = 0;
    await change();
    const line = await Promise.race([
      gateway.logLine({ msg: 'changed files applied' }),
      gateway.logLine({ msg: 'cannot apply changed files' }),
    ]);
    expect(await isInUse()).toBe(line.fault === undefined ? 1 : 0);
    return line;
  };
  const replace = async (changed: string) => {
    await writeFile(`${file}.new`, changed);
    return noticed(() => rename(`${file}.new`, file));
  };
  return { file, service, gateway, noticed, replace };
}

/** The statuses of the responses to a read with each of these tokens. */
const statusesOf = (gateway: Awaited<ReturnType<typeof startStack>>['gateway'], tokens: string[]) =>
  Promise.all(
    tokens.map(async (token) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await gateway.post({ query: read }, headers)).status;
    }),
  );

test('changed upstream headers are sent, and invalid ones change nothing', async () => {
  const { file, service, gateway, replace } = await startWithFile(
    'UPSTREAM_HEADERS_FILE',
    'x-key: secret-1\n',
  );
  await gateway.graphql(read);
  await replace('x-key: secret-2\n');
  await gateway.graphql(read);
  expect(await replace('x-key secret-3\n')).toMatchObject({
    fault: expect.stringContaining(`${file} must be a readable file with a header`),
  });
  await gateway.graphql(read);
  const sent = service.received.map(({ headers }) => headers['x-key']);
  expect(sent).toEqual(['secret-1', 'secret-2', 'secret-2']);
  expect(gateway.logText()).not.toContain('secret-');
});

test('a file that a symbolic link replaces is applied, and one that was missing for a while, with the same content', async () => {
  const { file, service, gateway, noticed } = await startWithFile(
    'UPSTREAM_HEADERS_FILE',
    'x-key: 1\n',
  );
  await writeFile(`${file}.linked`, 'x-key: 2\n');
  await symlink(`${file}.linked`, `${file}.link`);
  expect(await noticed(() => rename(`${file}.link`, file))).toMatchObject({ files: [file] });
  expect(await noticed(() => rm(file))).toMatchObject({
    fault: expect.stringMatching(`${file} must be a readable .*: ENOENT$`),
  });
  expect(gateway.logs.filter(({ fault }) => fault !== undefined)).toHaveLength(1);
  expect(await noticed(() => rename(`${file}.linked`, file))).not.toHaveProperty('fault');
  await gateway.graphql(read);
  expect(service.received[0]?.headers['x-key']).toBe('2');
});

test('tokens of a key that was added are accepted, and those of a withdrawn key at once no more', async () => {
  const [one, two] = await Promise.all([createSigningKey('1'), createSigningKey('2')]);
  const { gateway, replace } = await startWithFile(
    'JWT_JWKS_FILE',
    JSON.stringify({ keys: [one.jwk] }),
    { JWT_JWKS_URL: '', JWT_ISSUER: 'issuer', JWT_AUDIENCE: 'gateway' },
  );
  const tokens = await Promise.all([one.sign(), two.sign()]);
  const statuses = () => statusesOf(gateway, tokens);
  expect(await statuses()).toEqual([200, 401]);
  await replace(JSON.stringify({ keys: [two.jwk] }));
  expect(await statuses()).toEqual([401, 200]);
  expect(await replace('{"keys":[]}')).toMatchObject({ fault: expect.stringContaining('Key Set') });
  expect(await statuses()).toEqual([401, 200]);
});

test('issuers and their keys change together, and a file of keys that appears later is applied', async () => {
  const [one, two] = await Promise.all([createSigningKey('1'), createSigningKey('2')]);
  const textOf = (key: typeof one) => JSON.stringify({ keys: [key.jwk] });
  const [first, second] = [await temporaryFile(textOf(one)), await temporaryFile('')];
  const issuersOf = (...files: string[]) =>
    JSON.stringify(
      files.map((jwksFile, n) => ({ issuer: `issuer-${n}`, audience: 'gateway', jwksFile })),
    );
  const none = { JWT_JWKS_URL: '', JWT_ISSUER: '', JWT_AUDIENCE: '' };
  const { gateway, replace, noticed } = await startWithFile(
    'JWT_ISSUERS_FILE',
    issuersOf(first),
    none,
  );
  const tokens = await Promise.all([one.sign({ iss: 'issuer-0' }), two.sign({ iss: 'issuer-1' })]);
  const statuses = () => statusesOf(gateway, tokens);
  expect(await statuses()).toEqual([200, 401]);
  const fault = expect.stringMatching(/^\S+ must be a readable file with a JSON Web Key Set$/);
  expect(await replace(issuersOf(first, second))).toMatchObject({ fault });
  expect(await statuses()).toEqual([200, 401]);
  expect(await noticed(() => writeFile(second, textOf(two)))).toMatchObject({
    files: expect.arrayContaining([first, second]),
  });
  expect(await statuses()).toEqual([200, 200]);
  await noticed(() => writeFile(first, textOf(two)));
  expect(await statuses()).toEqual([401, 200]);
});

test('changed trusted documents are executed, and invalid ones change nothing', async () => {
  const { gateway, replace } = await startWithFile(
    'TRUSTED_DOCUMENTS',
    JSON.stringify({ one: read }),
  );
  const statuses = () =>
    Promise.all(
      ['one', 'two'].map(async (documentId) => (await gateway.post({ documentId })).status),
    );
  expect(await statuses()).toEqual([200, 400]);
  await replace(JSON.stringify({ two: read }));
  expect(await statuses()).toEqual([400, 200]);
  expect(await replace(JSON.stringify({ one: read, two: '{ nothing }' }))).toMatchObject({
    fault: expect.stringContaining('two: Cannot query field "nothing"'),
  });
  expect(await statuses()).toEqual([400, 200]);
});
