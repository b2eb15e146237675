import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf, post, readQuery } from '../client.ts';
import type { Harness, RunningGateway, Scenario } from '../harness.ts';
import { residentMb } from '../process.ts';
import { succeed } from '../service.ts';
import { percentile, tally } from '../statistics.ts';

const CONNECTIONS = 400;
/** An upload of 5 MB with 1 Mbit/s: bytes that are sent every 100 ms. */
const PORTION = 12_500;
const upload = JSON.stringify({
  query:
    'mutation ($c: String!) { result: uploadWorkflowCsv(input: { fileName: "a", contentBase64: $c }) { __typename } }',
  variables: { c: 'AAAA'.repeat(5_000_000 / 4) },
});

/** Clients that send a byte per second hold places of their own caller only. */
export const slowBodies: Scenario = {
  name: 'slow-bodies',
  async run(harness) {
    const service = await harness.startService(succeed);
    const gateway = await harness.startGateway(service);
    const attacker = await harness.issuer.token({ sub: 'attacker' });
    const before = residentMb(gateway.pid);
    const slow = (token?: string) => () =>
      sendSlowly(harness, gateway, ' '.repeat(60_000), 1, 1000, token);
    const anonymous = Array.from({ length: CONNECTIONS / 2 }, slow());
    const held = Array.from({ length: CONNECTIONS / 2 }, slow(attacker));
    const uploading = sendSlowly(harness, gateway, upload, PORTION, 100, harness.token);

    let isOver = false;
    const uploaded = uploading.finally(() => {
      isOver = true;
    });
    const latencies: number[] = [];
    const outcomes: string[] = [];
    for (let n = 0; !isOver; n++) {
      const response = await post(gateway.url, harness.token, readQuery(`slow-${n}`));
      outcomes.push(outcomeOf(response));
      latencies.push(response.ms);
      await sleep(200);
    }
    const growth = residentMb(gateway.pid) - before;
    const rejected = await Promise.all(anonymous);
    const slowest = Math.max(...rejected.map(({ ms }) => ms));
    const waiting = await Promise.race([Promise.any(held), sleep(0, 'waiting')]);
    const { ms, ...response } = await uploaded;
    return [
      {
        claim: `${CONNECTIONS / 2} bodies of a byte per second without a token: each is rejected at once`,
        measured: `${tally(rejected.map(outcomeOf))} after up to ${slowest.toFixed(0)} ms`,
        holds: slowest < 2000 && rejected.every(({ status }) => status === 401),
      },
      {
        claim: `${CONNECTIONS / 2} with the token of one caller: each request of another one is served within 500 ms (p99)`,
        measured: `${tally(outcomes)}, p99 ${percentile(latencies, 0.99).toFixed(0)} ms; ${growth.toFixed(0)} MB more resident; the bodies are ${waiting === 'waiting' ? 'still arriving' : 'over'}`,
        holds:
          percentile(latencies, 0.99) < 500 &&
          outcomes.every((outcome) => outcome === 'GlCodeList'),
      },
      {
        claim: 'its upload of 5 MB with 1 Mbit/s is sent to the service',
        measured: `${outcomeOf({ ms, ...response })} after ${(ms / 1000).toFixed(0)} s`,
        holds: outcomeOf({ ms, ...response }) === 'WorkflowCsvUploaded',
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
