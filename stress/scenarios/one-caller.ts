import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bystander, observe, rowsOf } from '../bystander.ts';
import type { Harness, Row, RunningGateway, Scenario } from '../harness.ts';
import { missingRedis, startRedis } from '../redis.ts';
import { type Behaviour, succeed } from '../service.ts';

/** Attacks with the means of one client, and at most one token. */
type Attack = {
  name: string;
  /** The process runs with so much memory, and must stay below it. */
  memoryMb?: number;
  variables?: Record<string, string>;
  /** Where the process keeps idempotency keys. In its memory if omitted. */
  store?: 'redis';
  bystander: Bystander;
  run(send: Send, token: string): Promise<unknown>;
};

/** Opens a connection and writes to it. What the gateway sends is not read, unless `isRead`. */
type Send = (text: string, isRead?: boolean) => Socket;

const CODES = 600;
const ALIASES = 199;
const listOf = (count: number, name: (n: number) => string, message?: string) =>
  Buffer.from(
    JSON.stringify({
      service_status: { status: 0, message },
      list: Array.from({ length: count }, (_, n) => ({
        Code: String(40_000 + n),
        Name: name(n),
        Value: 'travel',
        Hide: 0,
      })),
    }),
  );
const lists: Record<string, Buffer> = {
  long: listOf(CODES, (n) => `Travel ${n}`),
  // V8 has two bytes for each character of a text with one that is not Latin-1.
  wide: listOf(2_500, () => `${'x'.repeat(1_590)}€`),
  message: listOf(0, String, 'm'.repeat(1_000_000)),
  big: listOf(50_000, () => 'x'.repeat(260)),
  random: listOf(620, () => randomBytes(1_200).toString('base64')),
};
const unresolved = Buffer.from(JSON.stringify({ unresolved: `${'x'.repeat(999_999)}€` }));
/** How long the service takes for an upload, in milliseconds: requests with the same key arrive meanwhile. */
const UPLOAD_MS = 500;
/** How long it takes for slow and for missing lists. */
const SLOW_MS = 3000;
/** The requests of the attacks ask for a list of codes or upload a file, those of the other caller ask for an empty list. */
const respond: Behaviour = (exchange) => {
  const { path, response } = exchange;
  const [project = ''] = exchange.project.split('-');
  const list = lists[project];
  if (list) response.setHeader('content-length', list.length).end(list);
  else if (project === 'slow') setTimeout(() => succeed(exchange), SLOW_MS);
  else if (project === 'missing') setTimeout(() => response.writeHead(404).end(), SLOW_MS);
  else if (path === 'updateWorkflowCSV') setTimeout(() => response.end(unresolved), UPLOAD_MS);
  else succeed(exchange);
};

const fields = (count: number, field: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `a${n}:${field(n)}`).join(' ');

const longQuery = `{${fields(ALIASES, () => 'glCodes(target:EMAIL,project:"long"){...f}')}} fragment f on GlCodeList{codes{code name}}`;
const listsOf = (count: number, project: (n: number) => string, rest = '') =>
  `{${fields(count, (n) => `glCodes(target:EMAIL,project:"${project(n)}"${rest}){__typename}`)}}`;
const messageQuery = `{glCodes(target:EMAIL,project:"message"){...on GlCodeList{${fields(30, () => 'message')}}}}`;
const randomQuery = '{glCodes(target:EMAIL,project:"random"){...on GlCodeList{codes{name}}}}';
const tooLongQuery = `query($o:[String!]){${fields(ALIASES, () => 'glCodes(target:EMAIL,project:"x",only:$o){__typename}')}}`;
const wideQuery = `{glCodes(target:EMAIL,project:"wide"){...on GlCodeList{codes{${fields(14, () => 'name')}}}}}`;
/** Fields of one response name that validation compares with each other. */
const costlyQuery = `{${Array.from({ length: 1_300 }, (_, n) => `glCodes(a:${n})`).join('')}}`;

const headOf = (line: string, headers: string[]) =>
  [`${line} HTTP/1.1`, 'host: gateway', ...headers, '\r\n'].join('\r\n');
const authorization = (token?: string) => (token ? [`authorization: Bearer ${token}`] : []);
const postHead = (bytes: number, token?: string, headers: string[] = []) =>
  headOf('POST /graphql', [
    'content-type: application/json',
    `content-length: ${bytes}`,
    ...authorization(token),
    ...headers,
  ]);
const postOf = (query: string, token?: string, variables?: object, headers?: string[]) => {
  const body = JSON.stringify({ query, variables });
  return postHead(body.length, token, headers) + body;
};

/** Runs a task at a steady rate. */
async function repeat(count: number, perSecond: number, task: () => void): Promise<void> {
  for (let n = 0; n < count; n++) {
    task();
    await sleep(1000 / perSecond);
  }
}

/** Volleys of pipelined requests on one connection each, one per second. */
const pipeline = (count: number, request: string) => (send: Send) =>
  repeat(4, 1, () => send(request.repeat(count), true));

/** Requests whose bodies do not arrive. The small ones fill what the large ones leave of a limit. */
const declared = (send: Send, token?: string) => {
  const sizes = [65_536, 4_096, 256];
  let n = 0;
  return repeat(1_800, 600, () => send(postHead(sizes[n++ % sizes.length] ?? 0, token)));
};

/** Pipelines of 16 requests, on 20 connections at once. */
const volleys =
  (query: (n: number) => string, variables?: object) => async (send: Send, token: string) => {
    // Long ones are made once, so that this process is not busy while it measures.
    const long = variables && postOf(query(0), token, variables);
    for (let n = 0; n < 20; n++) {
      const requests = Array.from(
        { length: 16 },
        (_, k) => long ?? postOf(query(n * 16 + k), token),
      );
      send(requests.join(''), true);
    }
  };

/** Bodies of 10 MB in small chunks, each on a connection of its own. */
const chunked =
  (line: string, bytes: number, count = 10) =>
  async (send: Send, token?: string) => {
    const head = headOf(line, [
      'content-type: application/json',
      'transfer-encoding: chunked',
      ...authorization(token),
    ]);
    const chunk = `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`;
    const chunks = chunk.repeat(10_000_000 / chunk.length);
    for (let n = 0; n < count; n++) send(head + chunks, true);
  };

const part = `glCodes(target:EMAIL,project:"long",first:${CODES - 1}){...on GlCodeList{codes{code}}}`;
const invalidReferences = Array(4_990).fill({ __typename: 'GlCode', target: 'NONE' });

/** An operation with so many uploads, whose outcomes are selected so often, and the same with an idempotency key. */
const uploads = (count: number, selected = 1) =>
  `mutation{${fields(count, () => `uploadWorkflowCsv(input:{fileName:"a",csv:"a"}){...on WorkflowCsvUploaded{${fields(selected, () => 'unresolved')}}}`)}}`;
const keyed = (count: number, token: string, key = 'k') =>
  postOf(uploads(count), token, undefined, [`idempotency-key: ${key}`, 'idempotency-key-age: 0']);
const settleOf = (key: string) =>
  `mutation{settleWrites(idempotencyKey:"${key}"){writes{outcome{...on WorkflowCsvUploaded{unresolved}}}}}`;
const times = (count: number, send: (n: number) => void) => {
  for (let n = 0; n < count; n++) send(n);
};

const unread = (send: Send, token: string) => repeat(100, 25, () => send(postOf(longQuery, token)));
const repeats = (send: Send, token: string) =>
  repeat(2, 0.3, () => times(200, () => send(keyed(1, token), true)));
const settlements = async (send: Send, token: string) => {
  send(keyed(4, token), true);
  await sleep(5000);
  times(200, () => send(postOf(settleOf('k'), token)));
};

/** Requests of a client that disconnects after so many milliseconds each time. */
const disconnecting =
  (request: (n: number, token: string) => string, delays: number[]) =>
  async (send: Send, token: string) => {
    for (const ms of delays) {
      const sockets = Array.from({ length: 240 }, (_, n) => send(request(n, token), true));
      await sleep(ms);
      for (const socket of sockets) socket.destroy();
      await sleep(1500);
    }
  };
const slowQuery = (n: number) => listsOf(ALIASES, (k) => `slow-${n}-${k}`);

const rate = { perSecond: 10, seconds: 15 };
const withWrites = { ...rate, writes: true };
const precise = { perSecond: 50, seconds: 6 };

const attacks: Attack[] = [
  {
    name: '100 unread responses of 4.5 MB, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: unread,
  },
  {
    name: '100 unread responses of 4.5 MB, with 350 MB of heap',
    variables: { NODE_OPTIONS: '--max-old-space-size=350' },
    bystander: rate,
    run: unread,
  },
  {
    name: '200 queries at once for 90 parts of a list, with 350 MB of heap',
    variables: { NODE_OPTIONS: '--max-old-space-size=350' },
    bystander: rate,
    run: async (send, token) =>
      times(200, () => send(postOf(`{${fields(90, () => part)}}`, token), true)),
  },
  {
    name: '12 queries for 56 MB that are not Latin-1, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: (send, token) => repeat(12, 2, () => send(postOf(wideQuery, token), true)),
  },
  {
    name: '960 queries for a message of 1 MB, selected 30 times, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: (send, token) =>
      repeat(4, 0.3, () => times(240, () => send(postOf(messageQuery, token), true))),
  },
  {
    name: '360 queries for 20 lists of 16 MB each, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: (send, token) =>
      repeat(3, 0.3, () =>
        times(120, (n) =>
          send(
            postOf(
              listsOf(20, (k) => `big-${n}-${k}`, ',search:"x"'),
              token,
            ),
            true,
          ),
        ),
      ),
  },
  {
    name: '720 responses of 1 MB to compress, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: (send, token) =>
      repeat(3, 0.3, () =>
        times(240, () =>
          send(postOf(randomQuery, token, undefined, ['accept-encoding: gzip']), true),
        ),
      ),
  },
  {
    name: '240 queries for 199 slow lists each, whose clients disconnect, four times',
    bystander: rate,
    run: disconnecting((n, token) => postOf(slowQuery(n), token), [300, 1000, 1800, 600]),
  },
  {
    name: '240 queries for 199 slow lists each, with different headers that are forwarded, four times',
    variables: { FORWARD_HEADERS: 'x-tenant' },
    bystander: rate,
    run: disconnecting(
      (n, token) => postOf(slowQuery(0), token, undefined, [`x-tenant: ${'x'.repeat(6_000)}${n}`]),
      [300, 1000, 1800, 600],
    ),
  },
  {
    name: '240 queries for one list that is missing, 199 times each, three times',
    bystander: rate,
    run: disconnecting(
      (_, token) =>
        postOf(
          listsOf(ALIASES, () => 'missing'),
          token,
        ),
      [4000, 4000, 4000],
    ),
  },
  {
    name: '30 queries with 199 filters of 1,000 codes that are too long',
    bystander: precise,
    run: (send, token) =>
      repeat(3, 0.5, () =>
        times(10, () =>
          send(postOf(tooLongQuery, token, { o: Array(1_000).fill('x'.repeat(257)) }), true),
        ),
      ),
  },
  {
    name: '12 uploads at once whose outcomes of 1 MB are selected 30 times, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: async (send, token) => times(12, () => send(postOf(uploads(1, 30), token), true)),
  },
  {
    name: '300 writes at once with unread outcomes of 1 MB, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: async (send, token) => times(300, () => send(postOf(uploads(1), token))),
  },
  {
    name: '200 repeats, before and after the outcome, of a write with one of 1 MB, with 512 MB',
    memoryMb: 512,
    bystander: withWrites,
    run: repeats,
  },
  {
    name: '200 settlements at once of a key with four unread outcomes of 1 MB, with 512 MB',
    memoryMb: 512,
    bystander: withWrites,
    run: settlements,
  },
  {
    name: '200 repeats, before and after the outcome, of a write with one of 1 MB, with 512 MB and Redis',
    memoryMb: 512,
    store: 'redis',
    bystander: withWrites,
    run: repeats,
  },
  {
    name: '200 settlements at once of a key with four unread outcomes of 1 MB, with 512 MB and Redis',
    memoryMb: 512,
    store: 'redis',
    bystander: withWrites,
    run: settlements,
  },
  {
    name: '300 keys with five outcomes of 1 MB each, settled 720 times, with 350 MB of heap',
    variables: { NODE_OPTIONS: '--max-old-space-size=350' },
    bystander: withWrites,
    async run(send, token) {
      let keys = 0;
      const write = () => send(keyed(5, token, `k${keys++}`), true);
      const settleOne = (n: number) => send(postOf(settleOf(`k${n}`), token), true);
      await repeat(5, 0.7, () => times(60, write));
      await repeat(3, 0.5, () => times(240, settleOne));
    },
  },
  {
    name: '1,800 bodies that are declared and not sent, without a token, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: (send) => declared(send),
  },
  {
    name: '1,800 bodies that are declared and not sent, with a token, with 512 MB',
    memoryMb: 512,
    bystander: rate,
    run: declared,
  },
  {
    name: '160 pipelined queries of 20 KB without a token',
    bystander: precise,
    run: pipeline(160, postOf(costlyQuery)),
  },
  {
    name: '160 pipelined queries of 20 KB with a token',
    bystander: precise,
    run: (send, token) => pipeline(160, postOf(costlyQuery, token))(send),
  },
  {
    name: '320 queries of 199 different lists each',
    bystander: precise,
    run: volleys(
      (n) => `{${fields(199, (k) => `glCodes(target:EMAIL,project:"${n}-${k}"){__typename}`)}}`,
    ),
  },
  {
    name: '320 requests with 4,990 invalid references each',
    bystander: precise,
    run: volleys(() => 'query($r:[_Any!]!){_entities(representations:$r){__typename}}', {
      r: invalidReferences,
    }),
  },
  {
    name: '100 different queries, each until it is compiled',
    bystander: precise,
    run: volleys(
      (n) =>
        `query q${n % 100}{${fields(42, () => 'glCodes(target:EMAIL,project:"x"){...f}')}} fragment f on GlCodeList{codes{code name value hide __typename}}`,
    ),
  },
  {
    name: '1,900 pipelined requests for /metrics',
    bystander: precise,
    run: pipeline(1_900, headOf('GET /metrics', [])),
  },
  {
    name: '10 bodies in chunks of one byte, without a token',
    bystander: precise,
    run: (send) => chunked('POST /graphql', 1)(send),
  },
  {
    name: '10 bodies in chunks of one byte, for GET /livez',
    bystander: precise,
    run: (send) => chunked('GET /livez', 1)(send),
  },
  {
    name: '60 bodies in chunks of 66 bytes, with a token',
    bystander: precise,
    run: chunked('POST /graphql', 66, 60),
  },
  {
    name: '100 requests for /metrics on connections of their own, four times',
    bystander: precise,
    run: (send) =>
      repeat(4, 1, () => {
        for (let n = 0; n < 100; n++) send(headOf('GET /metrics', []), true);
      }),
  },
  {
    name: '100 unread pages of the explorer, with 512 MB',
    memoryMb: 512,
    variables: { EXPLORER: 'graphiql' },
    bystander: rate,
    run: (send) => repeat(100, 25, () => send(headOf('GET /graphql', ['accept: text/html']))),
  },
  {
    name: 'compressed pages of the explorer, 25 per second',
    variables: { EXPLORER: 'graphiql' },
    bystander: precise,
    run: (send) =>
      repeat(100, 25, () =>
        send(headOf('GET /graphql', ['accept: text/html', 'accept-encoding: gzip']), true),
      ),
  },
];

/** What one client sends does not take the gateway from other callers. */
export const oneCaller: Scenario = {
  name: 'one-caller',
  async run(harness) {
    if (missingRedis !== undefined) {
      return [{ claim: 'the scenario runs', measured: missingRedis, holds: false }];
    }
    const rows: Row[] = [];
    const [from = 0, to = attacks.length] = (process.env.STRESS_ATTACKS ?? '')
      .split(',')
      .filter(Boolean)
      .map(Number);
    for (const attack of attacks.slice(from, to)) rows.push(...(await measure(harness, attack)));
    return rows;
  },
};

async function measure(harness: Harness, attack: Attack): Promise<Row[]> {
  const { name, memoryMb, store, bystander } = attack;
  const service = await harness.startService(respond);
  const redis = store && (await startRedis(harness));
  const variables = { ...attack.variables, ...(redis && { IDEMPOTENCY_STORE: redis.url }) };
  const gateway = await harness.startGateway(service, variables, { memoryMb });
  const token = await harness.issuer.token({ sub: 'attacker' });
  const observation = await observe(harness, gateway, bystander, () =>
    attack.run((text, isRead) => send(harness, gateway, text, isRead), token),
  );
  await gateway.kill();
  return rowsOf(name, observation, memoryMb);
}

function send(harness: Harness, gateway: RunningGateway, text: string, isRead = false): Socket {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  harness.defer(() => socket.destroy());
  socket.on('error', () => {}); // The gateway may close the connection.
  if (isRead) socket.resume();
  socket.write(text);
  return socket;
}
