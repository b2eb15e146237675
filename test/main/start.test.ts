import { expect, test } from '@jest/globals';
import { version } from '../../src/version.ts';
import { environmentFor } from '../support/environment.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { read } from '../support/graphql-operation.ts';
import { startProcess } from '../support/process.ts';
import { json, startService } from '../support/service.ts';

test('an invalid environment ends the process with one message and no stack', async () => {
  const child = startProcess(['src/main.ts'], { env: { PORT: 'x', JWT_ISSUER: 'issuer' } });
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.lines).toEqual([]);
  expect(child.errorText()).toContain('PORT must be an integer');
  expect(child.errorText()).toContain('UPSTREAM_BASE_URL is required');
  expect(child.errorText()).toContain('JWT_AUDIENCE is required');
  expect(child.errorText()).not.toMatch(/^\s+at /m);
});

test('options print and end the process, without listening', async () => {
  const service = { url: 'https://user-visible.example/path-secret/' };
  const env = await environmentFor(service, { IDEMPOTENCY_STORE: 'redis://user:secret@redis' });
  const run = async (option: string, variables = env) => {
    const child = startProcess(['src/main.ts', option], { env: variables });
    const { code } = await child.exited;
    return { code, text: child.lines.join('\n'), error: child.errorText() };
  };
  const [valid, invalid, help, release, unknown] = await Promise.all([
    run('--check-config'),
    run('--check-config', { ...env, PORT: 'x', LOG_LEVEL: 'x' }),
    run('--help', {}),
    run('--version', {}),
    run('--chek-config'),
  ]);

  expect(valid).toMatchObject({ code: 0, error: '' });
  expect(JSON.parse(valid.text)).toMatchObject({
    upstream: { baseUrl: 'https://user-visible.example', timeoutMs: 30_000 },
    idempotency: { store: 'redis', retentionMs: 86_400_000 },
  });
  expect(valid.text).not.toContain('secret');
  expect(invalid).toMatchObject({ code: 1, text: '' });
  expect(invalid.error).toMatch(/PORT must be .*LOG_LEVEL must be/s);
  expect(help).toMatchObject({ code: 0, text: expect.stringContaining('--check-config') });
  expect(release).toMatchObject({ code: 0, text: version });
  expect(unknown).toMatchObject({ code: 1, error: expect.stringContaining('Usage') });
});

test('a port that is in use ends the process with one message and no stack', async () => {
  const service = await startService(json({}));
  const env = await environmentFor(service, { PORT: new URL(service.url).port });
  const child = startProcess(['src/main.ts'], { env });
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.errorText()).toContain('EADDRINUSE');
  expect(child.errorText()).not.toMatch(/^\s+at /m);
});

test('with a valid environment, the gateway serves requests until SIGINT', async () => {
  const service = await startService(json({ status: 0, service_status: { status: 0 } }));
  const gateway = await startGatewayProcess(service);
  const { text } = await gateway.post(
    { query: read },
    { authorization: `Bearer ${gateway.token}` },
  );
  expect(JSON.parse(text)).toEqual({ data: { result: { __typename: 'GlCodeList', codes: [] } } });

  gateway.signal('SIGINT');
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  expect(gateway.logs.at(-1)).toMatchObject({ msg: 'closed' });
});
