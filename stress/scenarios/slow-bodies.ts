import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf, post, readQuery } from '../client.ts';
import type { Harness, RunningGateway, Scenario } from '../harness.ts';
import { residentMb } from '../process.ts';
import { succeed } from '../service.ts';
import { percentile, tally } from '../statistics.ts';

const CONNECTIONS = 400;
/** The time after which a slow request must have its response, in milliseconds: 30 s, and what a check may be late. */
const MAX_MS = 40_000;
/** An upload of 5 MB with 1 Mbit/s: bytes that are sent every 100 ms. */
const PORTION = 12_500;
const upload = JSON.stringify({
  query:
    'mutation ($c: String!) { result: uploadWorkflowCsv(input: { fileName: "a", contentBase64: $c }) { __typename } }',
  variables: { c: 'AAAA'.repeat(5_000_000 / 4) },
});

/** Clients that send a byte per second are disconnected, and one that uploads over a slow line is served. */
export const slowBodies: Scenario = {
  name: 'slow-bodies',
  async run(harness) {
    const service = await harness.startService(succeed);
    const gateway = await harness.startGateway(service);
    const before = residentMb(gateway.pid);
    const uploading = sendSlowly(harness, gateway, upload, PORTION, 100, harness.token);
    const attacking = Array.from({ length: CONNECTIONS }, (_, n) =>
      sendSlowly(harness, gateway, ' '.repeat(60_000), 1, 1000, n % 2 ? harness.token : undefined),
    );

    const latencies: number[] = [];
    let isOver = false;
    const attacked = Promise.all(attacking).finally(() => {
      isOver = true;
    });
    for (let n = 0; !isOver; n++) {
      latencies.push((await post(gateway.url, harness.token, readQuery(`slow-${n}`))).ms);
      await sleep(200);
    }
    const growth = residentMb(gateway.pid) - before;
    const attacks = await attacked;
    const slowest = Math.max(...attacks.map(({ ms }) => ms));
    const uploaded = await uploading;
    const outcome = outcomeOf(uploaded);
    return [
      {
        claim: `${CONNECTIONS} bodies of a byte per second: each is rejected within ${MAX_MS / 1000} s`,
        measured: `${tally(attacks.map(outcomeOf))} after up to ${(slowest / 1000).toFixed(0)} s; ${growth.toFixed(0)} MB more resident`,
        holds: slowest < MAX_MS && attacks.every(({ status }) => status === 408),
      },
      {
        claim: 'meanwhile other requests are served within 500 ms (p99)',
        measured: `p99 ${percentile(latencies, 0.99).toFixed(0)} ms of ${latencies.length}`,
        holds: percentile(latencies, 0.99) < 500,
      },
      {
        claim: 'an upload of 5 MB with 1 Mbit/s is sent to the service',
        measured: `${outcome} after ${(uploaded.ms / 1000).toFixed(0)} s`,
        holds: outcome === 'WorkflowCsvUploaded',
      },
    ];
  },
};

/** Sends a body in portions until it is complete or there is a response. */
async function sendSlowly(
  harness: Harness,
  gateway: RunningGateway,
  body: string,
  bytes: number,
  everyMs: number,
  token: string | undefined,
) {
  const start = performance.now();
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  harness.defer(() => socket.destroy());
  socket.on('error', () => {}); // Then there is no response.
  let received = '';
  socket.on('data', (chunk) => {
    received += String(chunk);
  });
  const ended = Promise.race([once(socket, 'data'), once(socket, 'close')]);
  socket.write(
    [
      'POST /graphql HTTP/1.1',
      'host: gateway',
      'content-type: application/json',
      `content-length: ${body.length}`,
      ...(token ? [`authorization: Bearer ${token}`] : []),
      '\r\n',
    ].join('\r\n'),
  );
  let sent = 0;
  const timer = setInterval(() => {
    if (sent < body.length) socket.write(body.slice(sent, sent + bytes));
    sent += bytes;
  }, everyMs);
  await ended;
  clearInterval(timer);
  socket.destroy();
  const [head = '', responseBody = ''] = received.split('\r\n\r\n');
  return {
    status: Number(head.split(' ')[1] ?? 0),
    body: responseBody,
    ms: performance.now() - start,
  };
}
