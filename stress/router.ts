import { dirname } from 'node:path';
import { freePort } from '../testkit/port.ts';
import { temporaryFile } from '../testkit/temporary-folder.ts';
import { post } from './client.ts';
import { type Harness, until } from './harness.ts';
import { startChild } from './process.ts';

const hive = new URL('../e2e/hive.ts', import.meta.url).pathname;

/** Starts what STRESS_ROUTER names, `nginx` or `hive` (after `npm run setup`), in front of a port. Returns its port. */
export async function startRouter({ token }: Harness, target: number): Promise<number> {
  const router = process.env.STRESS_ROUTER;
  if (router === undefined) return target;
  const port = await freePort();
  const file = await temporaryFile(nginx(port, target));
  const [command, args] =
    router === 'nginx'
      ? ['nginx', ['-p', dirname(file), '-e', 'error.log', '-c', file]]
      : [process.execPath, [hive, String(port), `http://127.0.0.1:${target}/graphql`]];
  startChild(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ask = () => post(`http://127.0.0.1:${port}`, token, '{ __typename }');
  if (await until(async () => (await ask()).status === 200, 30_000)) return port;
  throw new Error(`${router} did not start`);
}

/** One that repeats everything, writes too. */
function nginx(port: number, target: number): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `pid pid; daemon off; events { worker_connections 2000; }
http {
  access_log off;
  ${folders.map((name) => `${name}_temp_path ${name};`).join(' ')}
  upstream gateways { server 127.0.0.1:${target} max_fails=0; server localhost:${target} max_fails=0; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gateways;
      proxy_next_upstream error timeout non_idempotent http_502 http_503 http_504;
    }
  }
}`;
}
