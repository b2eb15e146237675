import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../test/support/port.ts';
import { get } from './client.ts';
import { type Harness, until } from './harness.ts';
import { kill, killOnExit } from './process.ts';

const HAPROXY = '/usr/sbin/haproxy';
const STATS = '/haproxy-stats';

/** What to do about a missing HAProxy; undefined if it is installed. */
export const missingHaproxy = existsSync(HAPROXY)
  ? undefined
  : `${HAPROXY} is missing: apt-get install haproxy (Debian)`;

export type Haproxy = {
  url: string;
  port: number;
  /** How often HAProxy connected or sent again: to the same gateway, and to the other one. */
  resent(): Promise<{ same: number; other: number }>;
};

/** Starts HAProxy in front of gateways. `settings` are lines for its section `defaults`. */
export async function startHaproxy(
  harness: Harness,
  ports: number[],
  settings: string[],
): Promise<Haproxy> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-stress-'));
  harness.defer(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configuration(port, ports, settings));
  const child = spawn(HAPROXY, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  killOnExit(child);
  harness.defer(() => kill(child));
  const url = `http://127.0.0.1:${port}`;
  const up = await until(async () => (await get(`${url}/readyz`)).status === 200, 5000);
  if (!up) throw new Error(`HAProxy did not start: ${output}`);
  return {
    url,
    port,
    async resent() {
      const { body } = await get(`${url}${STATS};csv`);
      const [names = [], ...rows] = body.split('\n').map((line) => line.split(','));
      const backend = rows.find((row) => row[0] === 'gateways' && row[1] === 'BACKEND') ?? [];
      const column = (name: string) => Number(backend[names.indexOf(name)]);
      return { same: column('wretr'), other: column('wredis') };
    },
  };
}

function configuration(port: number, ports: number[], settings: string[]): string {
  const servers = ports.map((one, n) => `  server gateway${n} 127.0.0.1:${one} check`);
  return `global
  maxconn 2000
defaults
  mode http
  timeout connect 1s
  timeout check 2s
  timeout client 30s
  timeout server 30s
${settings.map((line) => `  ${line}`).join('\n')}
frontend clients
  bind 127.0.0.1:${port}
  stats uri ${STATS}
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server inter 100ms fall 2 rise 1
${servers.join('\n')}
`;
}
