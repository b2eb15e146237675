import { expect, test } from '@jest/globals';
import { readCommand } from '../../src/command-line.ts';
import { version } from '../../src/version.ts';
import { environmentFor } from '../../testkit/environment.ts';
import { startGatewayProcess } from '../../testkit/gateway-process.ts';
import { startProcess } from '../../testkit/process.ts';
import { json, startService, success } from '../../testkit/service.ts';

const service = await startService(json({}));
const { port } = new URL(service.url);
const inUse = await environmentFor(service, { PORT: port, LOG_LEVEL: 'silent' });
const faults = ['PORT must be an integer', 'UPSTREAM_BASE_URL is', 'JWT_AUDIENCE is'];

test.each([
  ['an invalid environment', { PORT: 'x', JWT_ISSUER: 'issuer' }, faults],
  ['a port that is in use', inUse, ['EADDRINUSE']],
])('%s ends the process with one message and no stack', async (_, env, expected) => {
  const child = startProcess(['src/main.ts'], { env });
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.lines).toEqual([]);
  for (const fault of expected) expect(child.errorText()).toContain(fault);
  expect(child.errorText()).not.toMatch(/^\s+at /m);
});

test('options print and end the process, without listening', async () => {
  const service = { url: 'https://user-visible.example/path-secret/' };
  const env = await environmentFor(service, { IDEMPOTENCY_STORE: 'redis://user:secret@redis' });
  const child = startProcess(['src/main.ts', '--check-config'], { env });
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(child.errorText()).toBe('');
  const text = child.lines.join('\n');
  expect(JSON.parse(text)).toMatchObject({
    UPSTREAM_BASE_URL: 'https://user-visible.example',
    UPSTREAM_TIMEOUT_MS: 30_000,
    IDEMPOTENCY_STORE: 'redis',
    IDEMPOTENCY_RETENTION_S: 86_400,
  });
  expect(text).not.toContain('secret');

  expect(await readCommand(['--help'], {})).toEqual({
    text: expect.stringContaining('--check-config'),
  });
  expect(await readCommand(['--version'], {})).toEqual({ text: `${version}\n` });
  const invalid = () => readCommand(['--check-config'], { ...env, PORT: 'x', LOG_LEVEL: 'x' });
  await expect(invalid()).rejects.toThrow(/PORT must be .*LOG_LEVEL must be/s);
  for (const option of ['--chek-config', '--connect']) {
    await expect(readCommand([option], env)).rejects.toThrow('Usage');
  }
});

test('a body that never fits into the memory of one caller is too large, and not too much for now', async () => {
  const service = await startService(success);
  // One caller may have about 35 MB, and a body takes four times its size.
  const smallHeap = ['--max-old-space-size=160', '--max-semi-space-size=4'];
  const { post, token } = await startGatewayProcess(service, {}, smallHeap);
  const upload = async (characters: number) => {
    const input = { fileName: 'a.csv', contentBase64: 'A'.repeat(characters) };
    const query = `mutation ($input: WorkflowCsvInput!) { uploadWorkflowCsv(input: $input) { __typename } }`;
    const { status, text } = await post(
      { query, variables: { input } },
      { authorization: `Bearer ${token}` },
    );
    return [status, JSON.parse(text).errors?.[0].extensions.code];
  };
  expect(await upload(16_000_000)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  expect(await upload(4_000_000)).toEqual([200, undefined]);
});
