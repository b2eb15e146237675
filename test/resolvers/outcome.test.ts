import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read, writes } from '../support/graphql-operation.ts';
import { json, type Received, reply, startService } from '../support/service.ts';

/** Starts a service that responds when the test calls `respond`. */
async function startSlowService() {
  const arrived = Promise.withResolvers<Received>();
  const responding = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<{ responded: boolean }>();
  const service = await startService(async (response, received) => {
    response.once('close', () => closed.resolve({ responded: response.writableFinished }));
    arrived.resolve(received);
    await responding.promise;
    if (!response.destroyed) json({ status: 0, unresolved: '' })(response, received);
  });
  return {
    ...service,
    arrived: arrived.promise,
    closed: closed.promise,
    respond: () => responding.resolve(),
  };
}

const traceId = '0af7651916cd43dd8448eb211c80319c';

/** Sends a request, and disconnects as soon as it has arrived at the service. */
async function sendAndDisconnect(
  gateway: Awaited<ReturnType<typeof startTestGateway>>,
  query: string,
  arrived: Promise<unknown>,
) {
  const client = new AbortController();
  const headers = { 'x-request-id': 'request-1', traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  const response = gateway.post({ query }, headers, client.signal);
  await arrived;
  client.abort();
  await expect(response).rejects.toThrow();
}

test.each(Object.keys(writes))(
  'if the response to %s is lost, its outcome is unknown and has the request id',
  async (operation) => {
    const service = await startService(reply(500));
    const gateway = await startTestGateway(service);

    const { status, data, errors } = await gateway.graphql(
      `mutation { result: ${writes[operation]} }`,
      {},
      { 'x-request-id': 'request-1' },
    );

    expect(status).toBe(200);
    expect(errors).toBeUndefined();
    expect(data.result).toEqual({
      __typename: 'LedgerOutcomeUnknown',
      code: 'UPSTREAM_FAILED',
      requestId: 'request-1',
      message:
        'The service failed. The operation may or may not have taken effect. It was not repeated.',
    });
    expect(service.received.map(({ url }) => url)).toEqual([`/${operation}`]);
  },
);

test('a read is cancelled when its client disconnects', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);

  await sendAndDisconnect(gateway, read, service.arrived);

  expect(await service.closed).toEqual({ responded: false });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    requestId: 'request-1',
    operation: 'getGLCodes5',
    outcome: 'CLIENT_DISCONNECTED',
    clientDisconnected: false,
  });
  expect(service.received).toHaveLength(1);
});

test.each(Object.keys(writes))('%s is finished when its client disconnects', async (operation) => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);

  await sendAndDisconnect(gateway, `mutation { ${writes[operation]} }`, service.arrived);
  expect(await gateway.logLine({ msg: 'request' })).toMatchObject({
    requestId: 'request-1',
    outcome: 'CLIENT_DISCONNECTED',
  });
  service.respond();

  expect(await service.closed).toEqual({ responded: true });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    level: 40,
    requestId: 'request-1',
    operation,
    outcome: 'answered',
    status: 200,
    clientDisconnected: true,
  });
  expect(service.received).toHaveLength(1);
});

test('the outcomes of writes whose client has disconnected are logged', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);

  await sendAndDisconnect(
    gateway,
    `mutation { a: ${writes.upgradeToHQ} b: ${writes.saveApproverList} }`,
    service.arrived,
  );
  service.respond();

  const line = await gateway.logLine({ msg: 'client disconnected before outcome of writes' });
  expect(line).toMatchObject({
    level: 40,
    requestId: 'request-1',
    traceId,
    writes: [
      'Mutation.workflowAction WorkflowActionCompleted',
      'Mutation.saveApprovers ApproversSaved',
    ],
  });
});

test('the deadline ends a write whose client has disconnected, and the log says so', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service, { UPSTREAM_TIMEOUT_MS: '500' });

  await sendAndDisconnect(gateway, `mutation { ${writes.upgradeToHQ} }`, service.arrived);

  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    level: 40,
    operation: 'upgradeToHQ',
    outcome: 'UPSTREAM_TIMEOUT',
    clientDisconnected: true,
  });
});

test('closing the gateway waits for the response to a write', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);
  const response = gateway.graphql(`mutation { result: ${writes.upgradeToHQ} }`);
  await service.arrived;

  const closed = gateway.close();
  service.respond();

  expect((await response).data.result.__typename).toBe('WorkflowActionCompleted');
  await closed;
});

test('closing the gateway waits for a write whose client has disconnected', async () => {
  const service = await startSlowService();
  const gateway = await startTestGateway(service);
  await sendAndDisconnect(gateway, `mutation { ${writes.upgradeToHQ} }`, service.arrived);

  const closed = gateway.close();
  service.respond();
  await closed;

  expect(await service.closed).toEqual({ responded: true });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({ outcome: 'answered' });
});

test('the outcomes of writes reach the client, however long and however often selected', async () => {
  const message = 'm'.repeat(1_000_000);
  const service = await startService(json({ status: 0, message }));
  const gateway = await startTestGateway(service);
  const names = Array.from({ length: 39 }, (_, n) => `m${n}`);
  const fields = names.map((name) => `${name}: message`).join(' ');
  const write = `workflowAction(action: RESTART) { __typename ... on LedgerStatus { ${fields} } }`;

  const { status, data, errors } = await gateway.graphql(
    `mutation { a: ${write} b: ${write} c: ${write} d: ${write} e: ${write} }`,
    {},
    { 'idempotency-key': 'long' },
  );
  const settled = await gateway.graphql(
    `mutation { s: settleWrites(idempotencyKey: "long") { writes { outcome { __typename ... on LedgerStatus { ${fields} } } } } }`,
  );

  expect(status).toBe(200);
  expect(errors).toBeUndefined();
  const outcomes = settled.data.s.writes.map(({ outcome }: { outcome: object }) => outcome);
  for (const outcome of [...Object.values<Record<string, string>>(data), ...outcomes]) {
    expect(outcome.__typename).toBe('WorkflowActionCompleted');
    for (const name of names) expect(outcome[name]).toBe(`${'m'.repeat(10_000)}…`);
  }
  expect(outcomes).toHaveLength(5);
  expect(service.received).toHaveLength(5);
});

test('a long message that is selected once is passed on whole', async () => {
  const message = 'm'.repeat(1_000_000);
  const service = await startService(json({ status: 0, message }));
  const gateway = await startTestGateway(service);
  const { data } = await gateway.graphql(`mutation { result: ${writes.restartWorkflow2} }`);
  expect(data.result.message).toBe(message);
});
