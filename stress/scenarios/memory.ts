import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, deflateSync, gzipSync } from 'node:zlib';
import { keepAliveAgent, outcomeOf, post, readQuery } from '../client.ts';
import { type Scenario, until } from '../harness.ts';
import { closedLoop, warmUp } from '../load.ts';
import { residentMb } from '../process.ts';
import { type Behaviour, succeed } from '../service.ts';
import { tally } from '../statistics.ts';

const SECONDS = 20;
const MAX_RESPONSE_BYTES = 4_194_304;

const gzipHeader = gzipSync('').subarray(0, 10);
/** A megabyte of zeros, as a part of a deflate stream that can be repeated any number of times. */
const megabyteOfZeros = deflateSync(Buffer.alloc(1_048_576), {
  finishFlush: constants.Z_FULL_FLUSH,
}).subarray(2);
const bomb = Buffer.concat([gzipHeader, ...Array<Buffer>(1024).fill(megabyteOfZeros)]);
const spaces = Buffer.alloc(65_536, ' ');

/** Writes a chunk again and again until the connection closes. */
function writeForever(response: ServerResponse, chunk: Buffer): void {
  while (!response.destroyed) {
    if (response.write(chunk)) continue;
    response.once('drain', () => writeForever(response, chunk));
    return;
  }
}

const hostileBehaviours: Behaviour[] = [
  ({ response }) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length });
    response.end(bomb);
  },
  ({ response }) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(gzipHeader);
    writeForever(response, megabyteOfZeros);
  },
  ({ response }) => {
    response.writeHead(200).write('{');
    writeForever(response, spaces);
  },
];

/** The size of responses is limited, and what exceeds the limit uses no memory. */
export const memory: Scenario = {
  name: 'memory',
  async run(harness) {
    const service = await harness.startService(succeed);
    const gateway = await harness.startGateway(service, {
      UPSTREAM_MAX_RESPONSE_BYTES: String(MAX_RESPONSE_BYTES),
    });
    const agent = keepAliveAgent(harness);
    const { token } = harness;
    await warmUp(gateway.url, token, agent, readQuery('warm'));
    const restingMb = residentMb(gateway.pid);

    let next = 0;
    service.behaviour = (exchange) =>
      hostileBehaviours[next++ % hostileBehaviours.length]?.(exchange);
    const sampling = sampleMemory(gateway.pid, SECONDS * 1000);
    const outcomes: string[] = [];
    await closedLoop(8, SECONDS, async (n) => {
      outcomes.push(outcomeOf(await post(gateway.url, token, readQuery(`bomb-${n}`), { agent })));
    });
    const samples = await sampling;
    const closed = await until(() => service.open.size === 0, 2000);

    const peakMb = (from: number, to: number) =>
      Math.max(...samples.filter(({ at }) => at >= from && at < to).map(({ mb }) => mb));
    const firstMb = peakMb(2000, 10_000);
    const secondMb = peakMb(10_000, SECONDS * 1000);
    return [
      {
        claim: `bombs of 1 GB and endless bodies for ${SECONDS} s, 8 at a time: memory does not grow`,
        measured: `${restingMb.toFixed(0)} MB at rest, ${firstMb.toFixed(0)} MB in the first half, ${secondMb.toFixed(0)} MB in the second`,
        holds: secondMb <= firstMb * 1.15 + 10 && secondMb <= restingMb + 300,
      },
      {
        claim: 'each is reported as an invalid response',
        measured: tally(outcomes),
        holds:
          outcomes.every((outcome) => outcome === 'UPSTREAM_INVALID_RESPONSE') &&
          outcomes.length > 50,
      },
      {
        claim: 'no transfer stays open',
        measured: `${service.open.size} open`,
        holds: closed,
      },
    ];
  },
};

/** Samples the memory of a process every 100 ms, for `ms` milliseconds. */
async function sampleMemory(pid: number, ms: number): Promise<{ at: number; mb: number }[]> {
  const start = performance.now();
  const samples: { at: number; mb: number }[] = [];
  while (performance.now() - start < ms) {
    samples.push({ at: performance.now() - start, mb: residentMb(pid) });
    await sleep(100);
  }
  return samples;
}
