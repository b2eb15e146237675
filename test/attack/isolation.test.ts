import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTestGateway } from '../../testkit/gateway.ts';
import { anyWrite } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { metric } from '../../testkit/metric.ts';
import { json, startService } from '../../testkit/service.ts';

const REQUESTS = 200;
const CONCURRENCY = 40;
const projects = ['north', 'south', 'harbour', 'north plant'];

/** The part of a response that is different for each token. */
const markOf = (authorization = '') => hash('sha256', authorization, 'hex');

/** Starts a service that returns the mark of the token and the project, after a random delay. */
function startMarkingService() {
  return startService(async (response, received) => {
    const project = new URL(received.url, 'http://a').searchParams.get('project');
    const mark = markOf(received.headers.authorization);
    // Some iterations of the event loop, so that calls overlap and responses are out of order.
    for (let left = Math.random() * 20; left > 0; left--) await setImmediate();
    const record = { status: 0, message: mark };
    const list = { service_status: record, list: [{ Code: mark, Name: project }] };
    await json(received.url.startsWith('/getGLCodes5') ? list : record)(response, received);
  });
}

async function createTokens(count: number) {
  const { token } = await testIssuer();
  // Two tokens each have the same subject, because only equal tokens may share a call.
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const bearer = await token({ sub: `user-${index >> 1}`, expiresIn: `${index + 1}h` });
      return { bearer, mark: markOf(`Bearer ${bearer}`) };
    }),
  );
}

test('no response contains data of another token', async () => {
  const service = await startMarkingService();
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  const tokens = await createTokens(6);
  const selection = '{ ... on GlCodeList { message codes { code name } } }';
  const write = `mutation { w: ${anyWrite('... on WorkflowActionCompleted { message }')} }`;
  let reads = 0;
  let lists = 0;
  let writes = 0;

  async function send(index: number) {
    const { bearer, mark } = pick(tokens, Math.random());
    const [first, second] = [pick(projects, index / 4), pick(projects, Math.random())];
    const headers = { authorization: `Bearer ${bearer}` };
    const post = async (query: string) => {
      const body = { query, variables: { first, second } };
      return JSON.parse((await gateway.post(body, headers)).text);
    };
    // Some requests are writes, which end the sharing of earlier reads.
    if (index % 50 === 0) {
      writes += 1;
      expect(await post(write)).toEqual({ data: { w: { message: mark } } });
      return;
    }
    reads += 3;
    lists += new Set([first, second]).size;
    // Equal fields of one request share a call, also with other requests.
    const response = await post(`query ($first: String!, $second: String!) {
      a: glCodes(target: EMAIL, project: $first) ${selection}
      b: glCodes(target: EMAIL, project: $second) ${selection}
      c: glCodes(target: EMAIL, project: $first) ${selection}
    }`);
    const marked = (name: string) => ({ message: mark, codes: [{ code: mark, name }] });
    expect(response).toEqual({ data: { a: marked(first), b: marked(second), c: marked(first) } });
  }

  let next = 0;
  const client = async () => {
    while (next < REQUESTS) await send(next++);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, client));

  // Each call to the service has exactly one of the tokens.
  const known = new Set(tokens.map(({ bearer }) => `Bearer ${bearer}`));
  const forwarded = new Set(service.received.map(({ headers }) => headers.authorization ?? ''));
  expect(forwarded).toEqual(known);
  // The test is only meaningful if reads were shared. Writes never are.
  const received = (name: string) => service.received.filter(({ path }) => path === name).length;
  expect(received('/getGLCodes5')).toBeLessThan((reads * 2) / 3);
  const shared = await metric(gateway, 'ledger_gateway_calls_shared_total');
  expect(received('/getGLCodes5') + shared).toBe(lists);
  expect(received('/restartWorkflow2')).toBe(writes);
});

/** The item at a share of a list: 0 is the first one, as is every whole number. */
function pick<Item>(items: readonly Item[], share: number): Item {
  const item = items[Math.floor((share % 1) * items.length)];
  if (item === undefined) throw new Error('index out of range');
  return item;
}
