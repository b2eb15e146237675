import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCountingServer } from '../findings/counting-server.ts';
import { ledger } from '../src/resolvers/ledger.ts';
import { emptyContent } from '../src/upstream/transport/empty-content.ts';
import { defineRequest } from '../src/upstream/transport/got-request.ts';

type Options = {
  /** The base URL of the service, which must lead to the stand-in. */
  readonly url: string;
  /** The port of the stand-in. */
  readonly standIn: number;
  /** How long the stand-in is silent at least, in milliseconds. The default is longer than the 60 s that many proxies wait. */
  readonly silenceMs?: number;
};

/** What the stand-in does, how it replies to a request before and to this one, and how often this one should arrive. */
const cases = [
  { does: 'closes a new connection', before: 'last', reply: 'close', sent: 1 },
  { does: 'closes a connection that was used before', before: 'ok', reply: 'close', sent: 1 },
  { does: 'resets a connection', before: 'ok', reply: 'reset', sent: 1 },
  { does: 'answers 502', before: 'ok', reply: '502', sent: 1 },
  { does: 'answers 503', before: 'ok', reply: '503', sent: 1 },
  { does: 'answers two equal requests', before: 'ok', reply: 'ok', sent: 2 },
  { does: 'allows caches, two equal requests', before: 'ok', reply: 'cacheable', sent: 2 },
] as const;

/**
 * Starts a stand-in for the service, and sends requests to it through whatever stands before the service. They are those of the
 * gateway for a GET that writes, but have the path of the read, so that nothing is written if the URL leads to the real service.
 */
export async function checkPath({ url, standIn, silenceMs = 65_000 }: Options) {
  const { arrivalsOf, server } = await startCountingServer(standIn, '0.0.0.0');
  const base = new URL(ledger.probe.operation.name, url.endsWith('/') ? url : `${url}/`);
  const clients = [createClient(base), createClient(base)] as const;
  const [{ send }, another] = clients;
  try {
    const status = await send('start', 'ok');
    if (arrivalsOf('start').length === 0) {
      const text = `${base} (${status}) does not lead to the stand-in on port ${standIn}. Nothing was checked.\n`;
      return { text, isFine: false };
    }
    const end = new AbortController();
    const silent = another.send('silent', 'silent', end.signal);
    const rows = [];
    for (const [index, { does, before, reply, sent }] of cases.entries()) {
      await send(`before ${index}`, before);
      for (let number = 0; number < sent; number += 1) await send(`case ${index}`, reply);
      rows.push(describe(does, sent, arrivalsOf(`case ${index}`).length));
    }
    await Promise.race([silent, sleep(silenceMs)]);
    end.abort();
    rows.push(describe(`is silent for ${silenceMs / 1000} s`, 1, arrivalsOf('silent').length));
    return reportOf(base, rows);
  } finally {
    for (const client of clients) client.close();
    server.closeAllConnections();
    server.close();
  }
}

type Row = { text: string; isFine: boolean };

function describe(does: string, sent: number, arrivals: number): Row {
  const fault = arrivals > sent ? 'REPEATED' : 'ANSWERED ON THE WAY';
  const isFine = arrivals === sent;
  const numbers = `${sent} sent, ${arrivals} arrived${isFine ? '' : `  ${fault}`}`;
  return { text: `  ${does.padEnd(42)}${numbers}\n`, isFine };
}

function reportOf(base: URL, rows: Row[]): Row {
  const isFine = rows.every((row) => row.isFine);
  const result = isFine
    ? 'Nothing on the way repeated or answered a GET.'
    : 'Something on the way repeats or answers GET requests: docs/how-to/proxy-before-the-service.md says what stops it.';
  const lines = rows.map(({ text }) => text).join('');
  return { text: `GET ${base}\n\nThe stand-in\n${lines}\n${result}\n`, isFine };
}

/**
 * Creates a client that keeps its connection, as the gateway does. Its `send` sends a request with a name and the reply that it
 * asks for, and returns its status, or what went wrong. It never sends one twice, as `fetch` does after 421.
 */
function createClient(base: URL) {
  const run = Date.now(); // So that no cache has a response of an earlier run.
  const [request, Agent] =
    base.protocol === 'https:' ? [httpsRequest, HttpsAgent] : [httpRequest, HttpAgent];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { ...defineRequest(base, 'GET').headers, ...emptyContent };
  return {
    close: () => agent.destroy(),
    async send(name: string, reply: string, end = AbortSignal.timeout(60_000)): Promise<string> {
      const target = new URL(`?run=${run}&case=${name}&reply=${reply}`, base);
      try {
        const sent = request(target, { agent, headers, signal: end }).end();
        const [response] = (await once(sent, 'response')) as [IncomingMessage];
        for await (const _ of response);
        return String(response.statusCode);
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  };
}
