import { expect } from '@jest/globals';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { startProcess } from '../testkit/process.ts';

const ports = [
  'PORT',
  'DEV_ISSUER_PORT',
  'DEV_SERVICE_PORT',
  'DEV_CUTTING_PROXY_PORT',
  'DEV_WEB_PORT',
];

/** Starts `npm run dev` on free ports, and returns the address that the first group of `line` matches in its output. */
export async function startDev(
  line: RegExp,
  { args = [], variables = {} }: { args?: string[]; variables?: Record<string, string> } = {},
): Promise<string> {
  const free = Object.fromEntries(ports.map((name) => [name, '0']));
  const env = { ...free, LOG_LEVEL: 'warn', ...variables };
  const dev = startProcess(['dev/start.ts', ...args], { env });
  closeAfterTest(async () => {
    dev.signal('SIGTERM');
    expect(await dev.exited).toEqual({ code: 0, signal: null });
  });
  const [, url = ''] = await dev.line(line);
  return url;
}
