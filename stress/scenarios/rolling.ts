import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  endWithUs,
  fine,
  freePort,
  get,
  isSuccess,
  keptConnections,
  kill,
  openLoop,
  outcomeOf,
  post,
  readOf,
  reconcile,
  type Scenario,
  tally,
  until,
  type World,
  writeOf,
} from '../harness.ts';

const HAPROXY = '/usr/sbin/haproxy';
const PER_SECOND = 80;
const ROUNDS = 2;
const SHUTDOWN_DELAY_MS = 1000;

/** A rolling restart behind a balancer loses nothing. */
export const rolling: Scenario = {
  name: 'rolling',
  async run(world) {
    if (!existsSync(HAPROXY)) {
      const measured = `${HAPROXY} is missing: apt-get install haproxy (Debian)`;
      return [{ claim: 'a rolling restart loses nothing', measured, holds: false }];
    }
    const service = await world.startService((call) => {
      setTimeout(() => fine(call), 5 + Math.random() * 40);
    });
    const ports = [await freePort(), await freePort()];
    const start = (port: number | undefined) =>
      world.startGateway(service, {
        PORT: String(port),
        SHUTDOWN_DELAY_MS: String(SHUTDOWN_DELAY_MS),
      });
    const gateways = [await start(ports[0]), await start(ports[1])];
    const url = await startBalancer(world, ports);

    const agent = keptConnections(world);
    const told = new Map<string, string>();
    const reads: string[] = [];
    const restarts: { codes: unknown[]; done: boolean } = { codes: [], done: false };
    const restarting = (async () => {
      await sleep(1000);
      for (let round = 0; round < ROUNDS; round++) {
        for (const [n, port] of ports.entries()) {
          restarts.codes.push(await gateways[n]?.stop());
          gateways[n] = await start(port);
          await sleep(500); // The balancer looks every 100 ms.
        }
      }
      restarts.done = true;
    })();
    while (!restarts.done) {
      const batch = told.size + reads.length;
      await openLoop(PER_SECOND, 1, async (n) => {
        const id = `rolling-${batch + n}`;
        const isWrite = n % 2 === 0;
        // Callers who keep their connection, and callers who do not.
        const options = n % 3 === 0 ? {} : { agent };
        const answer = await post(url, world.token, isWrite ? writeOf(id) : readOf(id), options);
        if (isWrite) told.set(id, outcomeOf(answer));
        else reads.push(outcomeOf(answer));
      });
    }
    await restarting;

    const { wrong } = reconcile(told, service.seen);
    const writes = [...told.values()];
    return [
      {
        claim: `${2 * ROUNDS} restarts behind HAProxy: every write is answered and served`,
        measured: tally(writes),
        holds: writes.length > 100 && writes.every(isSuccess),
      },
      {
        claim: 'every write is seen exactly as often as its caller was told',
        measured: `${writes.length} writes, ${wrong.length} wrong ${wrong.slice(0, 3).join('; ')}`,
        holds: wrong.length === 0,
      },
      {
        claim: 'every read is answered and served',
        measured: tally(reads),
        holds: reads.length > 100 && reads.every(isSuccess),
      },
      {
        claim: 'each gateway drains and exits with 0',
        measured: `exit codes ${restarts.codes.join(', ')}`,
        holds: restarts.codes.every((code) => code === 0),
      },
    ];
  },
};

async function startBalancer(world: World, ports: number[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-stress-'));
  world.defer(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  const servers = ports.map((one, n) => `  server gateway${n} 127.0.0.1:${one} check`);
  writeFileSync(
    file,
    `global
  maxconn 2000
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  # Another gateway is tried where a connection could not be made, so that nothing was sent; a
  # request that was sent is never sent again: it may be a write.
  retries 3
  retry-on conn-failure
  option redispatch 1
frontend callers
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server inter 100ms fall 2 rise 1
${servers.join('\n')}
`,
  );
  const child = spawn(HAPROXY, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  endWithUs(child);
  world.defer(() => kill(child));
  const url = `http://127.0.0.1:${port}`;
  const up = await until(async () => (await get(`${url}/readyz`)).status === 200, 5000);
  if (!up) throw new Error(`HAProxy did not start: ${output}`);
  return url;
}
