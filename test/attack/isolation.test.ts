import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { json, startService, startTestGateway, testIssuer } from '../helper.ts';

const REQUESTS = 3000;
const AT_ONCE = 40;
const projects = ['north', 'south', 'harbour', 'north plant'];

/** What the service answers to a token, and to no other. */
const markOf = (authorization: string | undefined) =>
  createHash('sha256')
    .update(authorization ?? '')
    .digest('hex');

/** A service that answers everything with a mark of the token and the project, sooner or later. */
function startMarkingService() {
  return startService(async (response, received) => {
    const project = new URL(received.url, 'http://a').searchParams.get('project');
    const mark = markOf(received.headers.authorization);
    // Some turns of the event loop, so that answers come out of order and calls are in flight at once.
    for (let turns = Math.random() * 20; turns > 0; turns--) await setImmediate();
    const record = { status: 0, message: mark };
    await json(
      received.url.startsWith('/getGLCodes5')
        ? { service_status: record, list: [{ Code: mark, Name: project }] }
        : record,
    )(response, received);
  });
}

async function startCallers(count: number) {
  const { token } = await testIssuer();
  // Some are the same person with another token: what counts is the token, not its subject.
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const bearer = await token({ sub: `caller-${index >> 1}`, expiresIn: `${index + 1}h` });
      return { bearer, mark: markOf(`Bearer ${bearer}`) };
    }),
  );
}

const list = z.object({
  message: z.string(),
  codes: z.array(z.object({ code: z.string(), name: z.string() })),
});
const answers = z.object({
  data: z.record(z.string(), z.union([list, z.object({ message: z.string() })])),
});

test('no answer ever crosses from one token to another', async () => {
  const service = await startMarkingService();
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  const callers = await startCallers(6);
  const selection = '{ ... on GlCodeList { message codes { code name } } }';
  const write =
    'mutation { w: workflowAction(action: RESTART) { ... on WorkflowActionCompleted { message } } }';
  let reads = 0;
  let writes = 0;

  async function ask(index: number) {
    const { bearer, mark } =
      callers[Math.floor(Math.random() * callers.length)] ?? callers[0] ?? fail();
    const headers = { authorization: `Bearer ${bearer}` };
    const first = projects[index % projects.length] ?? fail();
    const second = projects[Math.floor(Math.random() * projects.length)] ?? fail();
    // Now and then a write, which ends the sharing of all reads before it.
    if (index % 50 === 0) {
      writes += 1;
      const { text } = await gateway.post({ query: write }, headers);
      expect(answers.parse(JSON.parse(text)).data).toEqual({ w: { message: mark } });
      return;
    }
    // Now and then a caller who goes away while others may wait for the same call.
    if (index % 25 === 1) {
      const leaving = new AbortController();
      const query = `{ a: glCodes(target: EMAIL, project: "${first}") ${selection} }`;
      const gone = fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
        signal: leaving.signal,
      }).then(
        (response) => response.text(),
        () => undefined,
      );
      await setImmediate();
      leaving.abort();
      await gone;
      return;
    }
    reads += 3;
    // Two fields of one request are one call through its loader, and may share with other requests.
    const query = `query ($first: String!, $second: String!) {
      a: glCodes(target: EMAIL, project: $first) ${selection}
      b: glCodes(target: EMAIL, project: $second) ${selection}
      c: glCodes(target: EMAIL, project: $first) ${selection}
    }`;
    const { status, text } = await gateway.post({ query, variables: { first, second } }, headers);
    expect(status).toBe(200);
    const marked = (name: string) => ({ message: mark, codes: [{ code: mark, name }] });
    expect(answers.parse(JSON.parse(text)).data).toEqual({
      a: marked(first),
      b: marked(second),
      c: marked(first),
    });
  }

  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < REQUESTS) await ask(next++);
    }),
  );

  // Each call of the service carried a token of a caller, whole and alone.
  const known = new Set(callers.map(({ bearer }) => `Bearer ${bearer}`));
  const carried = new Set(service.received.map(({ headers }) => headers.authorization ?? ''));
  expect(carried).toEqual(known);
  // It would prove nothing if nothing had been shared, and writes never are.
  const received = (path: string) =>
    service.received.filter(({ url }) => url.startsWith(path)).length;
  expect(received('/getGLCodes5')).toBeLessThan((reads * 2) / 3);
  expect(received('/restartWorkflow2')).toBe(writes);
}, 60_000);

test('references of one router request do not meet those of another', async () => {
  const service = await startMarkingService();
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  const callers = await startCallers(4);
  const query =
    'query ($of: [_Any!]!) { _entities(representations: $of) { ... on GlCode { code name } } }';

  await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const { bearer, mark } = callers[index % callers.length] ?? fail();
      // Everyone asks for everyone's codes; each finds but the own one.
      const of = callers.map((caller) => ({
        __typename: 'GlCode',
        target: 'EMAIL',
        project: 'north',
        code: caller.mark,
      }));
      const { text } = await gateway.post(
        { query, variables: { of } },
        { authorization: `Bearer ${bearer}` },
      );
      expect(JSON.parse(text)).toEqual({
        data: {
          _entities: callers.map((caller) =>
            caller.mark === mark ? { code: mark, name: 'north' } : null,
          ),
        },
      });
    }),
  );
}, 30_000);

function fail(): never {
  throw new Error('there is none');
}
