import { existsSync } from 'node:fs';
import { freePort } from '../testkit/port.ts';
import { temporaryFile } from '../testkit/temporary-folder.ts';
import { get } from './client.ts';
import { until } from './harness.ts';
import { startChild } from './process.ts';

const HAPROXY = '/usr/sbin/haproxy';
const STATS = '/haproxy-stats';

/**
 * Starts HAProxy in front of gateways. `settings` are lines for its section `defaults`. Without them, HAProxy has its
 * own defaults: it checks every two seconds, takes a gateway out of service after three failures, and repeats only a
 * failed connection, to the same gateway.
 */
export async function startHaproxy(ports: number[], settings: string[] = []) {
  if (!existsSync(HAPROXY)) throw new Error(`${HAPROXY} is missing: apt-get install haproxy`);
  const port = await freePort();
  const file = await temporaryFile(configuration(port, ports, settings));
  const child = startChild(HAPROXY, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  const url = `http://127.0.0.1:${port}`;
  const up = await until(async () => (await get(`${url}/readyz`)).status === 200, 5000);
  if (!up) throw new Error(`HAProxy did not start: ${output}`);
  /** A column of HAProxy's statistics of the backend, or of one of its servers. */
  const statistics = async (server: string) => {
    const { body } = await get(`${url}${STATS};csv`);
    const [names = [], ...rows] = body.split('\n').map((line) => line.split(','));
    const row = rows.find((cells) => cells[0] === 'gateways' && cells[1] === server) ?? [];
    return (column: string) => row[names.indexOf(column)];
  };
  return {
    url,
    port,
    /** Whether HAProxy has seen the gateway at this port ready, with no failed check since. */
    async isUp(port: number): Promise<boolean> {
      const column = await statistics(`gateway${ports.indexOf(port)}`);
      // While checks fail or succeed but not often enough, the status is `UP 2/3` or `DOWN 1/2`.
      return column('status') === 'UP' && column('check_status') === 'L7OK';
    },
    /** How often HAProxy connected or sent again: to the same gateway, and to the other one. */
    async resent() {
      const column = await statistics('BACKEND');
      return { same: Number(column('wretr')), other: Number(column('wredis')) };
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
${servers.join('\n')}
`;
}
