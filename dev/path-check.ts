import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCountingServer } from '../findings/counting-server.ts';
import { ledger } from '../src/resolvers/ledger.ts';
import { defineRequest, emptyContent } from '../src/upstream/transport/got-client.ts';

type Options = {
  /** The base URL of the service, which must lead to the stand-in. */
  readonly url: string;
  /** The port of the stand-in. */
  readonly standIn: number;
  /** How long the stand-in is silent at least, in milliseconds. The default is longer than the 60 s that many proxies wait. */
  readonly silenceMs?: number;
  /** How long the check waits for a proxy that sends nothing to a server that has just failed, in milliseconds. */
  readonly recoveryMs?: number;
};

/** What the stand-in does, how it replies to a request before and to this one, and how often this one is sent. */
type Case = { does: string; before: string; reply: string; sent: number };

const cases: readonly Case[] = [
  { does: 'closes a new connection', before: 'last', reply: 'close', sent: 1 },
  { does: 'closes a connection that was used before', before: 'ok', reply: 'close', sent: 1 },
  { does: 'resets a connection', before: 'ok', reply: 'reset', sent: 1 },
  // The statuses after which some proxy or library sends a request again.
  ...['408', '421', '429', '500', '502', '503', '504'].map((status) => {
    return { does: `answers ${status}`, before: 'ok', reply: status, sent: 1 };
  }),
  // Some caches keep a response only after a few equal requests.
  { does: 'answers five equal requests', before: 'ok', reply: 'ok', sent: 5 },
  { does: 'allows caches, five equal requests', before: 'ok', reply: 'cacheable', sent: 5 },
];

/** The operations whose paths are checked: the read, and the writes that are GET requests. A proxy may treat each path in another way. */
const read = ledger.probe.operation.name;
const writes = ledger.operations.filter(
  ({ method, effect }) => method === 'GET' && effect === 'write',
);

/** A proxy may treat requests with a token in another way. The service rejects this token, if the URL leads to it by mistake. */
const authorization = 'Bearer e30.e30.e30';

/**
 * Starts a stand-in for the service, and sends requests to it through whatever stands before the service. They are those of the
 * gateway for a GET that writes, with a made-up token. The first one has the path of the read. The path of a write is checked
 * only if an OPTIONS request, which changes nothing, has reached the stand-in by it.
 */
export async function checkPath({
  url,
  standIn,
  silenceMs = 65_000,
  recoveryMs = 12_000,
}: Options) {
  const service = await startCountingServer(standIn, '0.0.0.0');
  let isForeign = false;
  service.server.on('clientError', (_, socket) => {
    isForeign = true;
    socket.destroy();
  });
  const first = createPath(url, read, service);
  const others = writes.map(({ name }) => createPath(url, name, service));
  try {
    const status = await first.send('start', 'ok');
    if (first.arrivals('start') === 0) {
      const hint = isForeign ? ' What arrived there was no HTTP. Let the proxy use http.' : '';
      const fault = /^\d+$/.test(status)
        ? `${first.base} (${status}) does not lead to the stand-in on port ${standIn}.${hint}`
        : `${first.base} cannot be reached: ${status}.`;
      const text = `${fault} Nothing was checked.\n`;
      return { text, isFine: false };
    }
    const reached = [first];
    const unreached = [];
    for (const path of others) {
      const status = await path.send('start', 'ok', { method: 'OPTIONS' });
      if (path.arrivals('start') > 0) reached.push(path);
      else unreached.push(`OPTIONS ${path.base} (${status})`);
    }
    return reportOf(await checkAll(reached, silenceMs, recoveryMs), unreached);
  } finally {
    for (const path of [first, ...others]) path.close();
    service.server.closeAllConnections();
    service.server.close();
  }
}

/** Checks one path after the other, because a failure on one may stop others. The silence at the end is the same for all. */
async function checkAll(paths: Path[], silenceMs: number, recoveryMs: number) {
  const results: { path: Path; rows: Row[] }[] = [];
  for (const path of paths) {
    const rows = [];
    for (const [index, one] of cases.entries())
      rows.push(await checkCase(path, `case ${index}`, one, recoveryMs));
    results.push({ path, rows });
  }
  const does = `is silent for ${silenceMs / 1000} s`;
  const silence = { does, before: 'ok', reply: 'silent', sent: 1 };
  const checked = results.map(async ({ path, rows }) => ({
    path,
    rows: [...rows, await checkCase(path, 'silence', silence, recoveryMs, silenceMs)],
  }));
  return Promise.all(checked);
}

type Service = Awaited<ReturnType<typeof startCountingServer>>;
type Path = ReturnType<typeof createPath>;

/** Sends the requests of a case. If none arrives, sends others: a proxy may send nothing for a while after a failure. */
async function checkCase(
  path: Path,
  label: string,
  { does, before, reply, sent }: Case,
  recoveryMs: number,
  timeoutMs?: number,
): Promise<Row> {
  const deadline = performance.now() + recoveryMs;
  for (let attempt = 0; ; attempt += 1) {
    const name = `${label} ${attempt}`; // What arrives late is no repeat of what is sent then.
    let status = await path.send(`before ${name}`, before);
    const requests = status === '200' ? sent : 0;
    for (let number = 0; number < requests; number += 1)
      status = await path.send(name, reply, { timeoutMs });
    const arrivals = path.arrivals(name);
    if (arrivals > 0 || performance.now() > deadline) {
      const fault = faultOf(sent, arrivals, status);
      const numbers = `${sent} sent, ${arrivals} arrived  ${fault ?? ''}`;
      return { text: `  ${does.padEnd(42)}${numbers}`.trimEnd(), fault };
    }
    await sleep(100);
  }
}

/** A line of the report, and what is wrong. */
type Row = { readonly text: string; readonly fault: string | undefined };

const [REPEATED, ANSWERED] = ['REPEATED', 'ANSWERED ON THE WAY'];

function faultOf(sent: number, arrivals: number, status: string): string | undefined {
  if (arrivals === sent) return undefined;
  if (arrivals > sent) return REPEATED;
  return status === '200' ? ANSWERED : `DID NOT ARRIVE (${status})`;
}

/** Paths with the same result share one table. */
function reportOf(results: { path: Path; rows: Row[] }[], unreached: string[]) {
  const tables = Map.groupBy(results, ({ rows }) => rows.map(({ text }) => `${text}\n`).join(''));
  const found = Array.from(tables, ([table, group]) => {
    const urls = group.map(({ path }) => `GET ${path.base}\n`).join('');
    return `${urls}\nThe stand-in\n${table}\n`;
  });
  const faults = results.flatMap(({ rows }) => rows.flatMap(({ fault }) => fault ?? []));
  const hasFaults = faults.some((fault) => fault === REPEATED || fault === ANSWERED);
  const isIncomplete = faults.some((fault) => fault !== REPEATED && fault !== ANSWERED);
  const missing = unreached.map(
    (text) => `Not checked, because this does not reach the stand-in: ${text}\n`,
  );
  const text = [
    ...found,
    ...missing,
    hasFaults
      ? 'Something on the way repeats or answers GET requests: docs/how-to/proxy-before-the-service.md says what stops it.\n'
      : 'No request that arrived was repeated or answered on the way.\n',
    isIncomplete ? 'Some requests did not arrive, so the check is not complete.\n' : '',
  ].join('');
  return { text, isFine: faults.length + unreached.length === 0 };
}

type Sending = { readonly method?: string; readonly timeoutMs?: number | undefined };

/**
 * Creates what sends requests to the path of an operation. It keeps its connection, as the gateway does. A request has a label,
 * and the reply that it asks for. `send` returns its status, or what went wrong. It never sends one twice, as `fetch` does after 421.
 */
function createPath(url: string, name: string, { arrivalsOf }: Service) {
  const base = new URL(name, url.endsWith('/') ? url : `${url}/`);
  const run = Date.now(); // So that no cache has a response of an earlier run.
  const [request, Agent] =
    base.protocol === 'https:' ? [httpsRequest, HttpsAgent] : [httpRequest, HttpAgent];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { ...defineRequest(base, 'GET').headers, ...emptyContent, authorization };
  const caseOf = (label: string) => `${name} ${label}`;
  async function send(
    label: string,
    reply: string,
    { method = 'GET', timeoutMs = 60_000 }: Sending = {},
  ): Promise<string> {
    const signal = AbortSignal.timeout(timeoutMs);
    const query = new URLSearchParams({ run: String(run), case: caseOf(label), reply });
    try {
      const target = new URL(`?${query}`, base);
      const sent = request(target, { method, agent, headers, signal }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      for await (const _ of response);
      return String(response.statusCode);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return {
    base,
    send,
    arrivals: (label: string) => arrivalsOf(caseOf(label)).length,
    close: () => agent.destroy(),
  };
}
