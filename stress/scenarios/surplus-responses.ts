import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { portOf } from '../../test/support/port.ts';
import { keepAliveAgent, outcomeOf, post, readQuery } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { forEach } from '../load.ts';
import { tally } from '../statistics.ts';

const CALLERS = 6;
const READS = 600;
/** Fewer places than clients, so that under load each connection is used again at once. */
const PLACES = 8;
const RESPONSE_MS = 10;
const SURPLUS = 'surplus';

const codesResponse = z.object({
  data: z.object({ result: z.object({ codes: z.array(z.object({ code: z.string() })) }) }),
});

/**
 * A service sends a second response on the connection of a read. It must not become the response to the next read.
 * If it arrives while that read is in flight, it must at least be one for the same caller.
 */
const cases = [
  { name: 'when the connection is idle', surplusAfterMs: 2, clients: 1, pauseMs: 20 },
  { name: 'under load', surplusAfterMs: 8, clients: 24, pauseMs: 0 },
];

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
  { name, surplusAfterMs, clients, pauseMs }: (typeof cases)[number],
): Promise<Row> {
  const url = await startService(harness, surplusAfterMs);
  const gateway = await harness.startGateway({ url }, { UPSTREAM_MAX_CONCURRENCY: String(PLACES) });
  const agent = keepAliveAgent(harness);
  const subjects = Array.from({ length: CALLERS }, (_, n) => `caller-${n}`);
  const tokens = await Promise.all(subjects.map((sub) => harness.issuer.token({ sub })));
  const reads: string[] = [];
  const read = async (n: number) => {
    const [token = '', subject = ''] = [tokens[n % CALLERS], subjects[n % CALLERS]];
    const response = await post(gateway.url, token, readQuery(`p${n}`), { agent });
    const { data } = codesResponse.safeParse(JSON.parse(response.body || 'null'));
    const [code] = data?.data.result.codes.map(({ code }) => code) ?? [];
    reads.push(code === undefined ? outcomeOf(response) : kindOf(code, subject));
    await sleep(pauseMs);
  };
  const count = clients === 1 ? READS / 4 : READS;
  await forEach(
    clients,
    Array.from({ length: count }, (_, n) => n),
    read,
  );
  return {
    claim: `a second response to each read, ${name}: none of ${count} reads gets one of another caller${clients === 1 ? ', nor a surplus one' : ''}`,
    measured: tally(reads),
    holds: reads.every((kind) => kind === 'own' || (clients > 1 && kind === 'own, surplus')),
  };
}

function kindOf(code: string, subject: string): string {
  const [of, kind] = code.split(' ');
  return `${of === subject ? 'own' : 'OF ANOTHER CALLER'}${kind === SURPLUS ? ', surplus' : ''}`;
}

/** Starts a service that responds with the caller's subject as a code, and again a moment later. */
async function startService(harness: Harness, surplusAfterMs: number): Promise<string> {
  const server = createServer((socket) => {
    harness.defer(() => socket.destroy());
    socket.on('error', () => {}); // The gateway may close the connection.
    let head = '';
    socket.on('data', (chunk) => {
      head += String(chunk);
      if (!head.endsWith('\r\n\r\n')) return;
      const subject = subjectOf(head);
      head = '';
      setTimeout(() => {
        respond(socket, subject);
        setTimeout(() => respond(socket, `${subject} ${SURPLUS}`), surplusAfterMs);
      }, RESPONSE_MS);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  harness.defer(() => server.close());
  return `http://127.0.0.1:${portOf(server.address())}/`;
}

function respond(socket: Socket, code: string): void {
  const body = JSON.stringify({ service_status: { status: 0 }, list: [{ Code: code }] });
  if (!socket.destroyed)
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
}

/** The subject of the token in the head of a request. */
function subjectOf(head: string): string {
  const payload = /^authorization: Bearer [^.]+\.([^.]+)/im.exec(head)?.[1] ?? '';
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  return z.object({ sub: z.string() }).parse(claims).sub;
}
