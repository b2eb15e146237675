import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { startTestGateway } from '../support/gateway.ts';
import { testIssuer } from '../support/issuer.ts';
import { json, startService } from '../support/service.ts';

/** The scenario `isolation` of the stress tests sends thousands. */
const REQUESTS = 200;
const CONCURRENCY = 40;
const projects = ['north', 'south', 'harbour', 'north plant'];

/** The part of a response that is different for each token. */
const markOf = (authorization: string | undefined) =>
  createHash('sha256')
    .update(authorization ?? '')
    .digest('hex');

/** Starts a service that returns the mark of the token and the project, after a random delay. */
function startMarkingService() {
  return startService(async (response, received) => {
    const project = new URL(received.url, 'http://a').searchParams.get('project');
    const mark = markOf(received.headers.authorization);
    // Some iterations of the event loop, so that calls overlap and responses are out of order.
    for (let left = Math.random() * 20; left > 0; left--) await setImmediate();
    const record = { status: 0, message: mark };
    await json(
      received.url.startsWith('/getGLCodes5')
        ? { service_status: record, list: [{ Code: mark, Name: project }] }
        : record,
    )(response, received);
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

const list = z.object({
  message: z.string(),
  codes: z.array(z.object({ code: z.string(), name: z.string() })),
});
const responseBody = z.object({
  data: z.record(z.string(), z.union([list, z.object({ message: z.string() })])),
});

test('no response contains data of another token', async () => {
  const service = await startMarkingService();
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  const tokens = await createTokens(6);
  const selection = '{ ... on GlCodeList { message codes { code name } } }';
  const write =
    'mutation { w: workflowAction(action: RESTART) { ... on WorkflowActionCompleted { message } } }';
  let reads = 0;
  let writes = 0;

  async function send(index: number) {
    const { bearer, mark } =
      tokens[Math.floor(Math.random() * tokens.length)] ?? tokens[0] ?? fail();
    const headers = { authorization: `Bearer ${bearer}` };
    const first = projects[index % projects.length] ?? fail();
    const second = projects[Math.floor(Math.random() * projects.length)] ?? fail();
    // Some requests are writes, which end the sharing of earlier reads.
    if (index % 50 === 0) {
      writes += 1;
      const { text } = await gateway.post({ query: write }, headers);
      expect(responseBody.parse(JSON.parse(text)).data).toEqual({ w: { message: mark } });
      return;
    }
    // Some clients disconnect while others may wait for the same call.
    if (index % 25 === 1) {
      const client = new AbortController();
      const query = `{ a: glCodes(target: EMAIL, project: "${first}") ${selection} }`;
      const disconnected = fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
        signal: client.signal,
      }).then(
        (response) => response.text(),
        () => undefined,
      );
      await setImmediate();
      client.abort();
      await disconnected;
      return;
    }
    reads += 3;
    // Equal fields of one request share a call, also with other requests.
    const query = `query ($first: String!, $second: String!) {
      a: glCodes(target: EMAIL, project: $first) ${selection}
      b: glCodes(target: EMAIL, project: $second) ${selection}
      c: glCodes(target: EMAIL, project: $first) ${selection}
    }`;
    const { status, text } = await gateway.post({ query, variables: { first, second } }, headers);
    expect(status).toBe(200);
    const marked = (name: string) => ({ message: mark, codes: [{ code: mark, name }] });
    expect(responseBody.parse(JSON.parse(text)).data).toEqual({
      a: marked(first),
      b: marked(second),
      c: marked(first),
    });
  }

  let next = 0;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (next < REQUESTS) await send(next++);
    }),
  );

  // Each call to the service has exactly one of the tokens.
  const known = new Set(tokens.map(({ bearer }) => `Bearer ${bearer}`));
  const forwarded = new Set(service.received.map(({ headers }) => headers.authorization ?? ''));
  expect(forwarded).toEqual(known);
  // The test is only meaningful if reads were shared. Writes never are.
  const received = (path: string) =>
    service.received.filter(({ url }) => url.startsWith(path)).length;
  expect(received('/getGLCodes5')).toBeLessThan((reads * 2) / 3);
  expect(received('/restartWorkflow2')).toBe(writes);
});

test('references of one request are not resolved with the token of another', async () => {
  const service = await startMarkingService();
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  const tokens = await createTokens(4);
  const query =
    'query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on GlCode { code name } } }';

  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const { bearer, mark } = tokens[index % tokens.length] ?? fail();
      // Each request refers to the codes of all tokens, and finds only its own.
      const representations = tokens.map((token) => ({
        __typename: 'GlCode',
        target: 'EMAIL',
        project: 'north',
        code: token.mark,
      }));
      const { text } = await gateway.post(
        { query, variables: { representations } },
        { authorization: `Bearer ${bearer}` },
      );
      expect(JSON.parse(text)).toEqual({
        data: {
          _entities: tokens.map((token) =>
            token.mark === mark ? { code: mark, name: 'north' } : null,
          ),
        },
      });
    }),
  );
});

function fail(): never {
  throw new Error('index out of range');
}
