import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, deflateSync, gzipSync } from 'node:zlib';
import { type Reply, reply, success } from '../testkit/service.ts';
import {
  ALIASES,
  approversMutation,
  CODES,
  codesQuery,
  compiledQuery,
  costlyQuery,
  listsOf,
  longQuery,
  messageQuery,
  missingQuery,
  partsQuery,
  recordsQuery,
  referenceQuery,
  settleOf,
  slowQuery,
  tooLongQuery,
  uploadMutation,
  uploads,
  wideQuery,
} from './attack-documents.ts';
import { readQuery } from './client.ts';
import { after } from './harness.ts';
import { numbers } from './load.ts';

/** What an attack with the means of one client needs. */
export type Needs = {
  variables?: Record<string, string>;
  /** Whether idempotency keys are in Redis, and not in the memory of the process. */
  isRedis?: boolean;
  /** The subjects of the tokens; null for a token without one. One caller if omitted. */
  callers?: (string | null)[];
  /** The requests of the other caller. With `writes`, every other one is a write with an idempotency key of its own. */
  perSecond: number;
  seconds: number;
  writes?: boolean;
  /** How long the service takes for the other caller, in milliseconds. */
  serviceMs?: number;
};
export type Run = (send: Send, token: string, ...tokens: string[]) => Promise<unknown>;

/** Opens a connection and writes to it. What the gateway sends is not read, unless `isRead`. */
export type Send = (text: string | Buffer, isRead?: boolean) => Socket;

const listOf = (count: number, name: (n: number) => string, message?: string) => {
  const list = numbers(count).map((n) => {
    return { Code: String(40_000 + n), Name: name(n), Value: 'travel', Hide: 0 };
  });
  return JSON.stringify({ service_status: { status: 0, message }, list });
};
const respondWith = (text: string): Reply => {
  const body = Buffer.from(text);
  return (response) => response.setHeader('content-length', body.length).end(body);
};

const decimals = `{"list":[${numbers(290_000)
  .map((n) => `{"a":0.${123_456_789_012 + n}345678}`)
  .join()}]}`;

const gzipHeader = gzipSync('').subarray(0, 10);
/** A megabyte of zeros, as a part of a deflate stream that can be repeated any number of times. */
const megabyteOfZeros = deflateSync(Buffer.alloc(1_048_576), {
  finishFlush: constants.Z_FULL_FLUSH,
}).subarray(2);
const bomb = Buffer.concat([gzipHeader, ...Array<Buffer>(1024).fill(megabyteOfZeros)]);
const endless: Reply = (response) => {
  const spaces = Buffer.alloc(65_536, ' ');
  const write = () => {
    while (!response.destroyed) if (!response.write(spaces)) return;
  };
  response.on('drain', write).write('{');
  write();
};
const tinyChunks = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(1_500_000)}`;

/** The responses to an attack, by the first part of the project, or by the operation. */
const replies: Record<string, Reply> = {
  long: respondWith(listOf(CODES, (n) => `Travel ${n}`)),
  // V8 has two bytes for each character of a text with one that is not Latin-1.
  wide: respondWith(listOf(2_500, () => `${'x'.repeat(1_590)}€`)),
  message: respondWith(listOf(0, String, 'm'.repeat(1_000_000))),
  big: respondWith(listOf(25_000, () => 'x'.repeat(260))),
  random: respondWith(listOf(620, () => randomBytes(1_200).toString('base64'))),
  many: respondWith(listOf(20_000, (n) => `Travel ${n}`)),
  empty: respondWith(`{"list":[${'{},'.repeat(2_600_000)}{}]}`),
  records: respondWith(`{"list":[${'{},'.repeat(290_000)}{}]}`),
  decimals: respondWith(decimals),
  name: respondWith(listOf(1, () => 'a'.repeat(8_000_000))),
  tiny: (response) => response.socket?.write(tinyChunks),
  bomb: (response) => response.setHeader('content-encoding', 'gzip').end(bomb),
  endless,
  slow: after(3000, success),
  missing: after(3000, reply(404)),
  hang: () => {},
  reset: (response) => response.socket?.resetAndDestroy(),
  s500: reply(500),
  s503: reply(503),
  // Requests with the same key arrive meanwhile.
  updateWorkflowCSV: after(
    500,
    respondWith(JSON.stringify({ unresolved: `${'x'.repeat(999_999)}€` })),
  ),
};

/** The service: the other caller gets an empty list. */
export const respond =
  (serviceMs = 0): Reply =>
  (response, received) => {
    const { pathname, searchParams } = new URL(received.url, 'http://service');
    const [project = ''] = (searchParams.get('project') ?? '').split('-');
    const attacked = replies[project] ?? replies[pathname.slice(1)];
    const behave = attacked ?? (serviceMs > 0 ? after(serviceMs, success) : success);
    behave(response, received);
  };

const longNames = Array.from({ length: 190 }, (_, n) => `${'a'.repeat(250)}${n}:value`).join(' ');
const references = (count: number, project: (n: number) => string) =>
  numbers(count).map((n) => {
    const code = String(40_000 + (n % 100));
    return { __typename: 'GlCode', target: 'EMAIL', project: project(n), code };
  });

const headOf = (line: string, headers: string[]) =>
  [`${line} HTTP/1.1`, 'host: gateway', ...headers, '\r\n'].join('\r\n');
const authorization = (token?: string) => (token ? [`authorization: Bearer ${token}`] : []);
const json = 'content-type: application/json';
const postHead = (bytes: number, token?: string, headers: string[] = []) =>
  headOf('POST /graphql', [json, `content-length: ${bytes}`, ...authorization(token), ...headers]);
const postOf = (query: string, token?: string, variables?: object, headers?: string[]) => {
  const body = JSON.stringify({ query, variables });
  return postHead(body.length, token, headers) + body;
};
const keyed = (count: number, token: string, key = 'k') =>
  postOf(uploads(count), token, undefined, [`idempotency-key: ${key}`, 'idempotency-key-age: 0']);

/** Runs a task at a steady rate. */
async function repeat(count: number, perSecond: number, task: (n: number) => void): Promise<void> {
  for (let n = 0; n < count; n++) {
    task(n);
    await sleep(1000 / perSecond);
  }
}
const each = (count: number, send: (n: number) => void) => numbers(count).forEach(send);

/** How many at once, how many times, and how often per second. */
type Waves = [count: number, times?: number, perSecond?: number];

/** Sends requests at once, again and again. The responses are read. */
const waves =
  ([count, times = 1, perSecond = 0.3]: Waves, request: Request): Run =>
  (send, token) =>
    repeat(times, perSecond, (wave) => each(count, (n) => send(request(token, n, wave), true)));
type Request = (token: string, n: number, wave: number) => string;

const queries = (at: Waves, query: (n: number) => string): Run =>
  waves(at, (token, n) => postOf(query(n), token));

/** The same, and the client disconnects after so many milliseconds each time. */
const disconnecting =
  (delays: number[], request: Request): Run =>
  async (send, token) => {
    for (const ms of delays) {
      const sockets = numbers(240).map((n) => send(request(token, n, 0), true));
      await sleep(ms);
      for (const socket of sockets) socket.destroy();
      await sleep(1500);
    }
  };

/** Volleys of pipelined requests on one connection each, one per second. */
const pipeline =
  (count: number, request: (token: string) => string): Run =>
  (send, token) =>
    repeat(4, 1, () => send(request(token).repeat(count), true));

/** Pipelines of 40 requests on 200 connections at once, three times. */
const flood =
  (request: string): Run =>
  (send) => {
    const pipelined = Buffer.from(request.repeat(40));
    return repeat(3, 0.5, () => each(200, () => send(pipelined, true)));
  };

/** Pipelines of 16 requests, on 20 connections at once. Long ones are made once, so that this process is not busy. */
const volleys =
  (query: (n: number) => string, variables?: object): Run =>
  async (send, token) => {
    const long = variables && postOf(query(0), token, variables);
    each(20, (n) => {
      const requests = numbers(16).map((k) => long ?? postOf(query(n * 16 + k), token));
      send(requests.join(''), true);
    });
  };

/** Requests whose bodies do not arrive. The small ones fill what the large ones leave of a limit. */
const declared: (isAuthorized: boolean) => Run = (isAuthorized) => (send, token) => {
  const sizes = [65_536, 4_096, 256];
  const head = (n: number) => postHead(sizes[n % 3] ?? 0, isAuthorized ? token : undefined);
  return repeat(1_800, 600, (n) => send(head(n)));
};

/** Bodies of 10 MB in small chunks, each on a connection of its own. */
const chunked =
  (line: string, bytes: number, count: number, isAuthorized = false): Run =>
  async (send, token) => {
    const headers = isAuthorized ? authorization(token) : [];
    const head = headOf(line, [json, 'transfer-encoding: chunked', ...headers]);
    const chunk = `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`;
    const chunks = chunk.repeat(10_000_000 / chunk.length);
    each(count, () => send(head + chunks, true));
  };

/** Large bodies, which are made once. */
const large =
  (count: number, query: string, ...variables: object[]): Run =>
  async (send, token) => {
    const bodies = variables.map((one) => Buffer.from(JSON.stringify({ query, variables: one })));
    await repeat(count, 20, (n) => {
      const body = bodies[n % bodies.length] ?? Buffer.alloc(0);
      send(postHead(body.length, token), true).write(body);
    });
  };

/** Reads of each caller that fail in these ways. */
const failing =
  (...kinds: string[]): Run =>
  (send, ...tokens) =>
    repeat(3_000, 250, (n) => {
      const project = `${kinds[Math.floor(n / tokens.length) % kinds.length]}-${n}`;
      send(postOf(readQuery(project), tokens[n % tokens.length]), true);
    });

const repeats = waves([200, 2], (token) => keyed(1, token));
const settlements: Run = async (send, token) => {
  send(keyed(4, token), true);
  await sleep(5000);
  each(200, () => send(postOf(settleOf('k'), token)));
};
const keysAndSettlements: Run = async (...args) => {
  await waves([60, 5, 0.7], (token, n, wave) => keyed(5, token, `k${wave * 60 + n}`))(...args);
  await queries([240, 3, 0.5], (n) => settleOf(`k${n}`))(...args);
};
/** One byte per second on each connection. */
const trickle: Run = async (send, token) => {
  const sockets = numbers(400).map(() => send(postHead(60_000, token)));
  await repeat(15, 1, () => {
    for (const socket of sockets) socket.write(' ');
  });
};
const metrics = headOf('GET /metrics', []);
const page = (...headers: string[]) => headOf('GET /graphql', ['accept: text/html', ...headers]);
const keyAttacks = (store: string): Record<string, Run> => ({
  [`200 repeats, before and after the outcome, of a write with one of 1 MB${store}`]: repeats,
  [`200 settlements at once of a key with four unread outcomes of 1 MB${store}`]: settlements,
});
const millionKeys = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, n) => [`k${n}`, 1]));
const approver = { name: 'Ada', claimLimit: 100, email: 'a@a.example', workflowId: '1' };
const tooLong = { o: Array(1_000).fill('x'.repeat(257)) };
const invalid = { r: Array(4_990).fill({ __typename: 'GlCode', target: 'NONE' }) };
const manyReferences = [
  { r: references(5_000, () => 'long') },
  { r: references(5_000, (n) => `long-${n % 200}`) },
  { r: references(5_000, (n) => `long-${'p'.repeat(1_000)}${n}`) },
];
const delays = [300, 1000, 1800, 600];

const rate = { perSecond: 10, seconds: 15 };
const precise = { perSecond: 50, seconds: 6 };
const failures = { ...rate, variables: { UPSTREAM_TIMEOUT_MS: '2000' } };

const long: Record<string, Run> = {
  '100 unread responses of 4.5 MB': (send, token) =>
    repeat(100, 25, () => send(postOf(longQuery, token))),
  '200 queries at once for 90 parts of a list': queries([200], () => partsQuery),
  '12 queries for 56 MB that are not Latin-1': queries([1, 12, 2], () => wideQuery),
  '960 queries for a message of 1 MB, selected 30 times': queries([240, 4], () => messageQuery),
  '360 queries for 20 lists of 8 MB each': queries([120, 3], (n) =>
    listsOf(20, (k) => `big-${n}-${k}`, ',search:"x"'),
  ),
  '20 queries for 40 lists of 20,000 codes, and 60 for one such list': queries([80], (n) =>
    n < 20 ? listsOf(40, (k) => `many-${n}-${k}`) : codesQuery('many', 'codes{code}'),
  ),
  '4 queries for 150 lists of 290,000 empty records': queries([2, 2], recordsQuery),
  '30 queries for 2.6 million empty records, or for chunks of a byte': queries([10, 3], (n) =>
    readQuery(`${n % 2 ? 'empty' : 'tiny'}-${n}`),
  ),
  '30 queries for 290,000 numbers with 18 decimals': queries([10, 3], (n) =>
    readQuery(`decimals-${n}`),
  ),
  '10 queries with 150 searches in a name of 8 MB that nearly matches': queries([5, 2], (n) =>
    listsOf(150, () => `name-${n}`, `,search:"${'a'.repeat(99)}b"`),
  ),
  '240 queries for bombs of 1 GB and endless bodies': queries([60, 4], (n) =>
    readQuery(`${n % 2 ? 'bomb' : 'endless'}-${n}`),
  ),
  '720 responses of 1 MB to compress': waves([240, 3], (token) =>
    postOf(codesQuery('random', 'codes{name}'), token, {}, ['accept-encoding: gzip']),
  ),
  '240 queries for 199 slow lists each, whose clients disconnect, four times': disconnecting(
    delays,
    (token, n) => postOf(slowQuery(n), token),
  ),
  '240 queries for one list that is missing, 199 times each, three times': disconnecting(
    [4000, 4000, 4000],
    (token) => postOf(missingQuery, token),
  ),
  '40 uploads of 15 MB': large(40, uploadMutation, { c: 'AAAA'.repeat(3_750_000) }),
  '20 bodies with a million keys': large(20, approversMutation, { a: [millionKeys] }),
  '40 bodies with 39,000 numbers of 400 characters': large(40, approversMutation, {
    a: Array(39_000).fill(JSON.rawJSON(`0.${'123456789'.repeat(44)}`)),
  }),
  '20 bodies with 3,000 approvers': large(20, approversMutation, {
    a: Array(3_000).fill(approver),
  }),
  '60 bodies with 5,000 references to one list, to 200, or to 5,000': large(
    60,
    referenceQuery('target project code name value hide'),
    ...manyReferences,
  ),
  '20 bodies with 1,300 references under 190 names of 250 characters': large(
    20,
    referenceQuery(longNames),
    { r: references(1_300, () => 'long') },
  ),
  '12 uploads at once, whose outcomes of 1 MB are selected 30 times': queries([12], () =>
    uploads(1, 30),
  ),
  '300 writes at once with unread outcomes of 1 MB': async (send, token) =>
    each(300, () => send(postOf(uploads(1), token))),
  '1,800 bodies that are declared and not sent, without a token': declared(false),
  '1,800 bodies that are declared and not sent, with a token': declared(true),
  '400 bodies of a byte per second': trickle,
};

const short: Record<string, Run> = {
  '30 queries with 199 filters of 1,000 codes that are too long': waves([10, 3, 0.5], (token) =>
    postOf(tooLongQuery, token, tooLong),
  ),
  '320 requests with 4,990 invalid references each': volleys(
    () => referenceQuery('__typename'),
    invalid,
  ),
  '320 queries of 199 different lists each': volleys((n) => listsOf(ALIASES, (k) => `${n}-${k}`)),
  '100 different queries, each until it is compiled': volleys((n) => compiledQuery(n % 100)),
  '160 pipelined queries of 20 KB without a token': pipeline(160, () => postOf(costlyQuery)),
  '160 pipelined queries of 20 KB with a token': pipeline(160, (one) => postOf(costlyQuery, one)),
  '24,000 requests without a token for a path of 15 KB, on 600 connections': flood(
    headOf(`GET /${'x'.repeat(15_000)}`, []),
  ),
  '24,000 requests without a token with 7,500 parameters in the URL': flood(
    headOf(`GET /graphql?${'a&'.repeat(7_500)}`, []),
  ),
  '1,900 pipelined requests for /metrics': pipeline(1_900, () => metrics),
  '400 requests for /metrics on connections of their own': waves([100, 4, 1], () => metrics),
  '10 bodies in chunks of one byte, without a token': chunked('POST /graphql', 1, 10),
  '10 bodies in chunks of one byte, for GET /livez': chunked('GET /livez', 1, 10),
  '60 bodies in chunks of 1,100 bytes, with a token': chunked('POST /graphql', 1_100, 60, true),
  '1,800 bodies of 64 KB with 31,000 values': async (send, token) => {
    const body = postOf(approversMutation, token, { a: Array(31_000).fill(0) });
    await repeat(3, 1, () => each(600, () => send(body, true)));
  },
};

const explorer: Record<string, Run> = {
  '100 unread pages of the explorer': (send) => repeat(100, 25, () => send(page())),
  'compressed pages of the explorer, 25 per second': waves([1, 100, 25], () =>
    page('accept-encoding: gzip'),
  ),
};

const forwarded: Record<string, Run> = {
  '240 queries for 199 slow lists each, with different headers that are forwarded, four times':
    disconnecting(delays, (token, n) =>
      postOf(slowQuery(0), token, {}, [`x-tenant: ${'x'.repeat(6_000)}${n}`]),
    ),
};

const places: Record<string, Run> = {
  '40 requests with 200 references each, of 16 places and a service that takes 500 ms': waves(
    [1, 40, 4],
    (token, _, wave) =>
      postOf(referenceQuery('__typename'), token, {
        r: references(200, (k) => `other-${wave}-${k}`),
      }),
  ),
};

const oneFails = {
  'a caller who gets no response, resets, 500 and 503': failing('hang', 'reset', 's500', 's503'),
};
const resetting = failing('reset', 's503');
const twoFail = { 'two callers who get resets and 503': resetting };
const anonymousFail = { 'two tokens without `sub` that get resets and 503': resetting };

const table: [Needs, Record<string, Run>][] = [
  [rate, long],
  [{ ...rate, variables: { FORWARD_HEADERS: 'x-tenant' } }, forwarded],
  [
    { ...rate, perSecond: 4, serviceMs: 500, variables: { UPSTREAM_MAX_CONCURRENCY: '16' } },
    places,
  ],
  [failures, oneFails],
  [{ ...failures, callers: ['attacker-1', 'attacker-2'] }, twoFail],
  [{ ...failures, callers: [null, null] }, anonymousFail],
  [
    { ...rate, writes: true },
    {
      ...keyAttacks(''),
      '300 keys with five outcomes of 1 MB each, settled 720 times': keysAndSettlements,
    },
  ],
  [{ ...rate, writes: true, isRedis: true }, keyAttacks(', with Redis')],
  [precise, short],
  [{ ...precise, variables: { EXPLORER: 'graphiql' } }, explorer],
];

export type Attack = { name: string; needs: Needs; run: Run };
export const attacks: Attack[] = table.flatMap(([needs, runs]) =>
  Object.entries(runs).map(([name, run]) => ({ name, needs, run })),
);
