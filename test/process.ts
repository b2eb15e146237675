import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { closeAfterTest, testIssuer } from './helper.ts';

const main = new URL('../src/main.ts', import.meta.url).pathname;
const logLine = z.looseObject({ msg: z.string().optional() });

/**
 * The gateway as a process of its own: what is global in it (the trace provider, default metrics)
 * stays apart from the test's and from that of other tests.
 */
export async function startProcess(
  service: { url: string },
  variables: Record<string, string> = {},
  options: string[] = [],
) {
  const { jwksUrl, issuer, audience, token } = await testIssuer();
  const child = spawn(process.execPath, [...options, main], {
    // Nothing of the environment of the tests, which may configure Node or OpenTelemetry.
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      UPSTREAM_BASE_URL: service.url,
      JWT_JWKS_URL: jwksUrl,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: audience,
      LOG_LEVEL: 'trace',
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  closeAfterTest(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const exited = once(child, 'exit');
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      output += `${line}\n`;
      const { msg = '' } = logLine.parse(JSON.parse(line));
      const address = /listening at (\S+)/.exec(msg)?.[1];
      if (address) resolve(address);
    });
    exited.then(() => reject(new Error(`The gateway did not start: ${output}`)), reject);
  });

  return {
    url,
    token: await token(),
    /** All that it wrote, to standard output and standard error. */
    output: () => output,
    async post(body: unknown, headers: Record<string, string> = {}) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
    /** Asks it to end, as an orchestrator does; resolves to its exit code. */
    async stop(): Promise<unknown> {
      child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
  };
}
