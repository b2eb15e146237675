import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { startCuttingProxy } from '../../dev/cutting-proxy.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { startTestGateway } from '../support/gateway.ts';
import { write } from '../support/graphql-operation.ts';
import { freePort } from '../support/port.ts';
import { connectTo } from '../support/raw-request.ts';
import { json, startService } from '../support/service.ts';

async function startProxy(target: string) {
  const proxy = await startCuttingProxy({ target });
  closeAfterTest(proxy.close);
  return proxy;
}

test('the service receives the write, and the client gets no response', async () => {
  const service = await startService(json({ status: 0 }));
  const origin = 'http://localhost';
  const gateway = await startTestGateway(service, { CORS_ORIGINS: origin });
  const proxy = await startProxy(gateway.url);
  const key = { 'idempotency-key': 'intent-1' };
  // A browser asks first.
  const url = `${proxy.url}/graphql`;
  const asked = { origin, 'access-control-request-method': 'POST' };
  expect((await fetch(url, { method: 'OPTIONS', headers: asked })).status).toBe(204);

  const authorization = `Bearer ${gateway.token}`;
  const headers = { 'content-type': 'application/json', authorization, ...key };
  const lost = fetch(url, { method: 'POST', headers, body: JSON.stringify({ query: write }) });
  await expect(lost).rejects.toThrow('fetch failed');
  expect(service.received).toHaveLength(1);

  const repeat = await gateway.graphql(write, {}, key);
  expect(repeat.data.result.__typename).toBe('WorkflowActionCompleted');
  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  expect(service.received).toHaveLength(1);
});

test('a server that is not reachable looks the same', async () => {
  const proxy = await startProxy(`http://127.0.0.1:${await freePort()}`);
  await expect(fetch(proxy.url)).rejects.toThrow('fetch failed');
});

test('closing the proxy ends open connections', async () => {
  const service = await startService(() => {});
  const proxy = await startCuttingProxy({ target: service.url });
  const client = connectTo(proxy.url);
  const ended = once(client, 'close');
  await once(client, 'connect');
  await proxy.close();
  await ended;
  await expect(fetch(proxy.url)).rejects.toThrow('fetch failed');
});
