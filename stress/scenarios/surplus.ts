import type { Socket } from 'node:net';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { startTcp } from '../../testkit/tcp-server.ts';
import { keepAliveAgent, post } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { forEach, numbers } from '../load.ts';

const CALLERS = 2000;

/** Both name the caller whose request the response belongs to. */
const operations = [
  '{ result: glCodes(target: EMAIL, project: "north") { ... on GlCodeList { message } } }',
  'mutation { result: workflowAction(action: RESTART) { ... on WorkflowActionCompleted { message } } }',
];

/** The subject of the token of a request. */
function subjectOf(head: string): string {
  const [, payload = ''] = /bearer [^.]+\.([^.]+)\./i.exec(head) ?? [];
  return JSON.parse(String(Buffer.from(payload, 'base64url'))).sub;
}

/** Starts a service that responds with the subject of the token, and one time in `every` once more, `laterMs` after that. */
async function startFaulty(every: number, laterMs: number) {
  const timers = new Set<NodeJS.Timeout>();
  closeAfterTest(() => timers.forEach(clearTimeout));
  let responses = 0;
  const respond = (socket: Socket, head: string) => {
    const status = { status: 0, message: subjectOf(head) };
    const body = JSON.stringify({ service_status: status, list: [], ...status });
    const response = `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    responses += 1;
    if (responses % every !== 0) socket.write(response);
    else if (laterMs === 0) socket.write(response + response);
    else {
      socket.write(response);
      const timer = setTimeout(() => {
        timers.delete(timer);
        if (socket.writable) socket.write(response);
      }, laterMs);
      timers.add(timer);
    }
  };
  return startTcp((socket) => {
    let head = '';
    socket.on('data', (part) => {
      head += String(part);
      if (!head.includes('\r\n\r\n')) return;
      respond(socket, head);
      head = '';
    });
  });
}

/** No caller receives a response to the request of another one. */
async function surplus(harness: Harness): Promise<Row[]> {
  const tokens = await Promise.all(
    numbers(CALLERS).map((n) => harness.issuer.token({ sub: `caller-${n}` })),
  );
  const rows: Row[] = [];
  for (const every of [1, 20]) {
    for (const laterMs of [0, 1, 3, 10, 30]) {
      const service = await startFaulty(every, laterMs);
      const gateway = await harness.startGateway(service);
      const agent = keepAliveAgent();
      const counts = { own: 0, others: 0, none: 0 };
      await forEach(64, numbers(CALLERS), async (n) => {
        const { body } = await post(gateway.url, tokens[n] ?? '', operations[n % 2] ?? '', {
          agent,
        });
        const message = JSON.parse(body || '{}').data?.result?.message;
        if (message === undefined) counts.none += 1;
        else counts[message === `caller-${n}` ? 'own' : 'others'] += 1;
      });
      await gateway.kill();
      const which = every === 1 ? 'every response' : `one response in ${every}`;
      rows.push({
        claim: `a service sends ${which} twice, ${laterMs} ms apart: each of ${CALLERS} callers gets their own response`,
        measured: `${counts.own} own, ${counts.others} of others, ${counts.none} none; ${service.sockets.length} connections`,
        holds: counts.own === CALLERS,
      });
    }
  }
  return rows;
}

export const surplusResponses: Scenario = { name: 'surplus', run: surplus };
