import { expect, test } from '@jest/globals';
import { json, type Received, read, startService, startTestGateway, writes } from './helper.ts';

/** A service that answers when it is told to. */
async function startSlowService() {
  const arrived = Promise.withResolvers<Received>();
  const answering = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<{ answered: boolean }>();
  const service = await startService(async (response, received) => {
    response.once('close', () => closed.resolve({ answered: response.writableFinished }));
    arrived.resolve(received);
    await answering.promise;
    if (!response.destroyed) json({ status: 0, unresolved: '' })(response, received);
  });
  return {
    ...service,
    arrived: arrived.promise,
    closed: closed.promise,
    answer: () => answering.resolve(),
  };
}

/** Asks and, as soon as the request has arrived at the service, goes away. */
async function askAndLeave(
  gateway: { url: string; token: string },
  query: string,
  arrived: Promise<unknown>,
) {
  const leaving = new AbortController();
  const asked = fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${gateway.token}`,
      'x-request-id': 'gone-1',
    },
    body: JSON.stringify({ query }),
    signal: leaving.signal,
  });
  await arrived;
  leaving.abort();
  await expect(asked).rejects.toThrow();
}

test('a read ends when its caller goes away', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);

  await askAndLeave(gateway, read, service.arrived);

  expect(await service.closed).toEqual({ answered: false });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    requestId: 'gone-1',
    operation: 'getGLCodes5',
    outcome: 'CLIENT_GONE',
  });
  expect(service.received).toHaveLength(1);
});

test.each(Object.keys(writes))('%s runs to its end when its caller goes away', async (name) => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);

  await askAndLeave(gateway, `mutation { ${writes[name]} }`, service.arrived);
  expect(await gateway.logLine({ msg: 'request' })).toMatchObject({
    requestId: 'gone-1',
    outcome: 'CLIENT_GONE',
  });
  service.answer();

  expect(await service.closed).toEqual({ answered: true });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    level: 40,
    requestId: 'gone-1',
    operation: name,
    outcome: 'answered',
    status: 200,
  });
  expect(service.received).toHaveLength(1);
});

test('a write whose caller went away is ended by the deadline, and logged', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service, { UPSTREAM_TIMEOUT_MS: '500' });

  await askAndLeave(gateway, `mutation { ${writes.upgradeToHQ} }`, service.arrived);

  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    level: 40,
    operation: 'upgradeToHQ',
    outcome: 'UPSTREAM_TIMEOUT',
  });
});

test('closing waits for the answer of a write', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);
  const asked = gateway.graphql(`mutation { result: ${writes.upgradeToHQ} }`);
  await service.arrived;

  const closed = gateway.close();
  service.answer();

  expect((await asked).data.result.__typename).toBe('WorkflowActionCompleted');
  await closed;
});

test('closing waits for a write whose caller went away', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);
  await askAndLeave(gateway, `mutation { ${writes.upgradeToHQ} }`, service.arrived);

  const closed = gateway.close();
  service.answer();
  await closed;

  expect(await service.closed).toEqual({ answered: true });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({ outcome: 'answered' });
});
