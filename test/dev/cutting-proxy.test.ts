import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { startCuttingProxy } from '../../dev/cutting-proxy.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { freePort } from '../support/port.ts';
import { connectTo } from '../support/raw-request.ts';
import { startService } from '../support/service.ts';

test('a server that is not reachable looks like a lost response', async () => {
  const proxy = await startCuttingProxy({ target: `http://127.0.0.1:${await freePort()}` });
  closeAfterTest(proxy.close);
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
