import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { startTcp } from '../../testkit/tcp-server.ts';
import { keepAliveAgent, outcomeOf, post } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { forEach, numbers } from '../load.ts';
import { tally } from '../statistics.ts';

/**
 * A service sends a second response on the connection of a read. It must not become the response to the next read. If it
 * arrives while that read is in flight, it must at least be one for the same caller.
 */
type Case = [name: string, surplusAfterMs: number, reads: number, clients: number, pauseMs: number];
const cases: Case[] = [
  ['when the connection is idle', 2, 150, 1, 20],
  ['under load', 8, 600, 24, 0],
];
/** Fewer than clients, so that under load each connection is used again at once. */
const PLACES = '8';
const CALLERS = 6;

const responseSchema = z.object({ data: z.object({ result: z.object({ message: z.string() }) }) });
const read = (n: number) =>
  `{ result: glCodes(target: EMAIL, project: "p${n}") { __typename ... on LedgerStatus { message } } }`;

/** A response that nobody asked for reaches no other caller. */
export const surplusResponses: Scenario = {
  name: 'surplus-responses',
  async run(harness) {
    const rows: Row[] = [];
    for (const one of cases) rows.push(await measure(harness, one));
    return rows;
  },
};

async function measure(
  harness: Harness,
  [name, surplusAfterMs, reads, clients, pauseMs]: Case,
): Promise<Row> {
  const service = await startService(surplusAfterMs);
  const gateway = await harness.startGateway(service, { UPSTREAM_MAX_CONCURRENCY: PLACES });
  const agent = keepAliveAgent();
  const subjects = numbers(CALLERS).map((n) => `caller-${n}`);
  const tokens = await Promise.all(subjects.map((sub) => harness.issuer.token({ sub })));
  const kinds: string[] = [];
  const send = async (n: number) => {
    const [token = '', subject] = [tokens[n % CALLERS], subjects[n % CALLERS]];
    const response = await post(gateway.url, token, read(n), { agent });
    const { data } = responseSchema.safeParse(JSON.parse(response.body || 'null'));
    const [of, kind] = data?.data.result.message.split(' ') ?? [];
    if (of === undefined) kinds.push(outcomeOf(response));
    else kinds.push(of === subject ? (kind ?? 'own') : 'OF ANOTHER CALLER');
    await sleep(pauseMs);
  };
  await forEach(clients, numbers(reads), send);
  const allowed = clients > 1 ? ['own', 'surplus'] : ['own'];
  return {
    claim: `a second response to each read, ${name}: each of ${reads} reads gets one of its own caller`,
    measured: tally(kinds),
    holds: kinds.every((kind) => allowed.includes(kind)),
  };
}

/** Starts a service that responds with the caller's subject, and again a moment later. */
function startService(surplusAfterMs: number): Promise<{ url: string }> {
  return startTcp((socket) => {
    let head = '';
    socket.on('data', (chunk) => {
      head += String(chunk);
      if (!head.endsWith('\r\n\r\n')) return;
      const subject = subjectOf(head);
      head = '';
      setTimeout(() => {
        respond(socket, subject);
        setTimeout(() => respond(socket, `${subject} surplus`), surplusAfterMs);
      }, 10);
    });
  });
}

function respond(socket: Socket, message: string): void {
  const body = JSON.stringify({ service_status: { status: 0, message }, list: [] });
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  if (!socket.destroyed) socket.write(`${head}\r\n\r\n${body}`);
}

/** The subject of the token in the head of a request. */
function subjectOf(head: string): string {
  const token = /^authorization: Bearer (\S+)/im.exec(head)?.[1] ?? '';
  return String(decodeJwt(token).sub);
}
