import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, deflateSync, gzipSync } from 'node:zlib';
import {
  type Behaviour,
  closedLoop,
  fine,
  keptConnections,
  outcomeOf,
  post,
  readOf,
  residentMb,
  type Scenario,
  tally,
  until,
  warmUp,
} from '../harness.ts';

const SECONDS = 20;
const CAP = 4_194_304;

const gzipHeader = gzipSync('').subarray(0, 10);
/** A megabyte of zeros as a part of a deflate stream that may stand there any number of times. */
const megabyteOfZeros = deflateSync(Buffer.alloc(1_048_576), {
  finishFlush: constants.Z_FULL_FLUSH,
}).subarray(2);
const bomb = Buffer.concat([gzipHeader, ...Array<Buffer>(1024).fill(megabyteOfZeros)]);
const spaces = Buffer.alloc(65_536, ' ');

function pump(response: ServerResponse, piece: Buffer): void {
  while (!response.destroyed) {
    if (response.write(piece)) continue;
    response.once('drain', () => pump(response, piece));
    return;
  }
}

const hostile: Behaviour[] = [
  ({ response }) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length });
    response.end(bomb);
  },
  ({ response }) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(gzipHeader);
    pump(response, megabyteOfZeros);
  },
  ({ response }) => {
    response.writeHead(200).write('{');
    pump(response, spaces);
  },
];

/** Answers are capped, and what is beyond the cap costs nothing. */
export const memory: Scenario = {
  name: 'memory',
  async run(world) {
    const service = await world.startService(fine);
    const gateway = await world.startGateway(service, {
      UPSTREAM_MAX_RESPONSE_BYTES: String(CAP),
    });
    const agent = keptConnections(world);
    const { token } = world;
    await warmUp(gateway.url, token, agent, readOf('warm'));
    const restingMb = residentMb(gateway.pid);

    let turn = 0;
    service.behaviour = (call) => hostile[turn++ % hostile.length]?.(call);
    const start = performance.now();
    const samples: { at: number; mb: number }[] = [];
    const sampling = (async () => {
      while (performance.now() - start < SECONDS * 1000) {
        samples.push({ at: performance.now() - start, mb: residentMb(gateway.pid) });
        await sleep(100);
      }
    })();
    const outcomes: string[] = [];
    await closedLoop(8, SECONDS, async (n) => {
      outcomes.push(outcomeOf(await post(gateway.url, token, readOf(`bomb-${n}`), { agent })));
    });
    await sampling;
    const closed = await until(() => service.open.size === 0, 2000);

    const most = (from: number, to: number) =>
      Math.max(...samples.filter(({ at }) => at >= from && at < to).map(({ mb }) => mb));
    const early = most(2000, 10_000);
    const late = most(10_000, SECONDS * 1000);
    return [
      {
        claim: `bombs of 1 GB and endless bodies for ${SECONDS} s, 8 at a time: memory is flat`,
        measured: `${restingMb.toFixed(0)} MB at rest, ${early.toFixed(0)} MB in the first half, ${late.toFixed(0)} MB in the second`,
        holds: late <= early * 1.15 + 10 && late <= restingMb + 300,
      },
      {
        claim: 'each is told as an answer that cannot be read',
        measured: tally(outcomes),
        holds: outcomes.every((one) => one === 'UPSTREAM_INVALID_RESPONSE') && outcomes.length > 50,
      },
      {
        claim: 'no transfer is left open',
        measured: `${service.open.size} open`,
        holds: closed,
      },
    ];
  },
};
