import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { expect, test } from '@jest/globals';
import { type GraphQLObjectType, isEnumType, parse } from 'graphql';
import { resolvers } from '../../src/resolvers/index.ts';
import type { Upstream } from '../../src/upstream/client.ts';
import { createLoaders } from '../../src/upstream/loaders.ts';
import { type OperationName, operations, policyOf } from '../../src/upstream/operations.ts';
import {
  json,
  type Reply,
  reply,
  startService,
  startTcp,
  startTestGateway,
  testIssuer,
  writes,
} from '../helper.ts';

/** Sections 4.1 to 4.4 of the specification, and the effects of the design. */
const specification = {
  getGLCodes5: ['GET', 'read'],
  saveApproverList: ['POST', 'write'],
  updateWorkflowCSV: ['POST', 'write'],
  restartWorkflowAndMoveToNext: ['GET', 'write'],
  reStoreGlobalSolution: ['GET', 'write'],
  reStoreSolution: ['GET', 'write'],
  restartWorkflow2: ['GET', 'write'],
  updateSolutionGuide: ['GET', 'write'],
  upgradeToHQ: ['GET', 'write'],
};

const names = Object.keys(operations) as OperationName[];
const writeNames = names.filter((name) => operations[name].effect === 'write');
const typeDefs = parse(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));
const schema = buildSubgraphSchema([{ typeDefs, resolvers }]);

function fieldsOf(type: GraphQLObjectType | null | undefined): string[] {
  // Federation adds fields of its own; none of them is an operation of the service.
  return Object.keys(type?.getFields() ?? {}).filter((field) => !field.startsWith('_'));
}

test('the table holds the nine operations of the specification, and no other', () => {
  const table = names.map((name) => [name, [operations[name].method, operations[name].effect]]);
  expect(Object.fromEntries(table)).toEqual(specification);
});

test.each(writeNames)('%s is never retried, shared, aborted or kept alive', (name) => {
  expect(policyOf(name)).toEqual({
    retries: 0,
    shared: false,
    abortable: false,
    reuse: 'whereSafe',
  });
});

test.each(names)('%s stands in the schema where its row says', (name) => {
  const [type, field] = operations[name].graphql.split('.');
  expect(type).toBe(operations[name].effect === 'read' ? 'Query' : 'Mutation');
  const root = type === 'Query' ? schema.getQueryType() : schema.getMutationType();
  expect(fieldsOf(root)).toContain(field);
});

test('every root field has a row, so that Query reaches no write', () => {
  const rows = new Set(names.map((name): string => operations[name].graphql));
  const fields = [
    ...fieldsOf(schema.getQueryType()).map((field) => `Query.${field}`),
    ...fieldsOf(schema.getMutationType()).map((field) => `Mutation.${field}`),
  ];
  expect(new Set(fields)).toEqual(rows);
});

test('every workflow action is a write of its own', () => {
  const type = schema.getType('WorkflowAction');
  const values = isEnumType(type) ? type.getValues().map(({ value }) => value) : [];
  const rows = writeNames.filter((name) => operations[name].graphql === 'Mutation.workflowAction');
  expect(values.sort()).toEqual(rows.sort());
});

test('loaders, which share answers, call nothing but the read', async () => {
  const called = new Set<string>();
  const upstream = new Proxy({} as Upstream, {
    get: (_, method) => async () => {
      called.add(String(method));
      return { codes: [], status: 0, invoiceId: null, message: null };
    },
  });
  const loaders: { load(key: unknown): Promise<unknown> }[] = Object.values(
    createLoaders(upstream),
  );

  for (const loader of loaders) await loader.load({ target: 5, project: 'a', includeHide: true });

  expect(loaders).not.toEqual([]);
  expect([...called]).toEqual(['glCodes']);
});

const faults: [fault: string, Reply][] = [
  ['503', reply(503, '', { 'retry-after': '0' })],
  ['a redirect', reply(307, '', { location: '/elsewhere' })],
  ['a reset', (response) => void response.socket?.resetAndDestroy()],
  ['a success', json({ status: 0, unresolved: null })],
];

for (const [fault, reaction] of faults) {
  test.each(writeNames)(`%s arrives exactly once before ${fault}`, async (name) => {
    const service = await startService(reaction);
    const gateway = await startTestGateway(service);

    await gateway.graphql(`mutation { ${writes[name]} }`);
    await gateway.close();

    expect(service.received.map(({ method, url }) => [method, url.split('?')[0]])).toEqual([
      [operations[name].method, `/${name}`],
    ]);
  });
}

test('equal writes of one request are as many calls, one after the other', async () => {
  let running = 0;
  let most = 0;
  const service = await startService(async (response, received) => {
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running--;
    await json({ status: 0 })(response, received);
  });
  const gateway = await startTestGateway(service);

  await gateway.graphql(`mutation { a: ${writes.upgradeToHQ} b: ${writes.upgradeToHQ} }`);

  expect(service.received).toHaveLength(2);
  expect(most).toBe(1);
});

test('equal reads of one request are one call', async () => {
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service);
  const field = (project: string, includeHide = false) =>
    `glCodes(target: EMAIL, project: "${project}", includeHide: ${includeHide}) { __typename }`;

  const { data } = await gateway.graphql(
    `{ a: ${field('north')} b: ${field('north')} c: ${field('south')} d: ${field('north', true)} }`,
  );

  expect(Object.keys(data)).toEqual(['a', 'b', 'c', 'd']);
  expect(service.received.map(({ url }) => url)).toEqual([
    '/getGLCodes5?target=5&project=north&includeHide=false',
    '/getGLCodes5?target=5&project=south&includeHide=false',
    '/getGLCodes5?target=5&project=north&includeHide=true',
  ]);
});

test('equal reads of two requests, with different tokens, are two calls', async () => {
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service);
  const other = await (await testIssuer()).token({ sub: 'someone-else' });
  const query = '{ glCodes(target: EMAIL, project: "north") { __typename } }';

  await Promise.all([
    gateway.graphql(query),
    gateway.graphql(query, {}, { authorization: `Bearer ${other}` }),
  ]);

  expect(service.received.map(({ headers }) => headers.authorization).sort()).toEqual(
    [`Bearer ${gateway.token}`, `Bearer ${other}`].sort(),
  );
});

test('reads keep their connection, and each write has one of its own', async () => {
  const answer = JSON.stringify({ status: 0, service_status: { status: 0 } });
  const service = await startTcp((socket) => {
    socket.on('data', () =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`),
    );
  });
  const gateway = await startTestGateway(service);
  const read = '{ glCodes(target: EMAIL, project: "north") { __typename } }';

  await gateway.graphql(read);
  await gateway.graphql(read);
  expect(service.sockets).toHaveLength(1);

  await gateway.graphql(`mutation { ${writes.upgradeToHQ} }`);
  await gateway.graphql(`mutation { ${writes.upgradeToHQ} }`);
  expect(service.sockets).toHaveLength(3);
});

test('a connection that is kept gathers no listeners', async () => {
  const sockets: Socket[] = [];
  const keep = (message: unknown) => sockets.push((message as { socket: Socket }).socket);
  subscribe('net.client.socket', keep);
  const service = await startService(json({ service_status: { status: 0 } }));
  const gateway = await startTestGateway(service);

  for (let read = 0; read < 5; read++) {
    await gateway.graphql('{ glCodes(target: EMAIL, project: "north") { __typename } }');
  }
  unsubscribe('net.client.socket', keep);

  const kept = sockets.filter(({ remotePort }) => String(remotePort) === new URL(service.url).port);
  expect(kept.map((socket) => socket.listenerCount('connect'))).toEqual([0]);
});
