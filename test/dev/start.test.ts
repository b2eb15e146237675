import { expect, test } from '@jest/globals';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { startHttpServer } from '../../testkit/http-server.ts';
import { textOfLog } from '../../testkit/log-recorder.ts';
import { startProcess } from '../../testkit/process.ts';

const ports = ['PORT', 'DEV_ISSUER_PORT', 'DEV_SERVICE_PORT', 'DEV_CUTTING_PROXY_PORT'];

/** Starts `npm run dev` on free ports, and waits until it has printed its instructions. */
async function startDev(variables = {}) {
  const free = Object.fromEntries(ports.map((name) => [name, '0']));
  const dev = startProcess(['dev/start.ts'], { env: { ...free, LOG_LEVEL: 'info', ...variables } });
  closeAfterTest(async () => {
    dev.signal('SIGTERM');
    expect(await dev.exited).toEqual({ code: 0, signal: null });
  });
  const [, url = ''] = await dev.line(/^The gateway listens at (\S+)$/);
  await dev.line(/^curl .* -i /);
  const { lines, line } = dev;
  return { url, lines, line, commands: dev.lines.filter((line) => line.startsWith('curl ')) };
}

const urlIn = (command = '') => /http:\S+/.exec(command)?.[0] ?? '';

/** Sends what a printed curl command sends. */
function run(command = ''): Promise<Response> {
  const [, body = ''] = /--data-binary '(.*)'$/.exec(command) ?? [];
  const headers = [...command.matchAll(/-H '([^:]+): ([^']*)'/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  );
  return fetch(urlIn(command), { method: 'POST', headers, body });
}

test('the printed commands lose the response of a write and get its outcome', async () => {
  const { url, lines, line, commands } = await startDev();
  // First it says what to open. Its log is readable.
  expect(lines.filter((text) => text !== '').slice(0, 2)).toEqual([
    'Run npm run dev -- --web for the example app.',
    expect.stringMatching(/^Open http:\S+\/graphql for the explorer/),
  ]);
  await line(/^\[\d\d:\d\d:\d\d\] INFO: starting/);
  expect(commands).toHaveLength(3);
  const [query, lost, repeat] = commands;

  expect(await (await run(query)).text()).toContain('Packaging');
  await expect(run(lost)).rejects.toThrow('fetch failed');
  const response = await run(repeat);
  expect(response.headers.get('idempotent-replayed')).toBe('true');
  expect(await response.text()).toContain('Approvers saved: 1.');

  // A frontend on any port of localhost may send requests, also those whose responses are lost.
  const origin = 'http://localhost:61234';
  const asked = { origin, 'access-control-request-method': 'POST' };
  for (const target of [url, urlIn(lost)]) {
    const { headers } = await fetch(target, { method: 'OPTIONS', headers: asked });
    expect(headers.get('access-control-allow-origin')).toBe(origin);
  }

  // The explorer works offline and starts with a token, and makes a key for each mutation itself.
  const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text();
  expect(page).toMatch(/\\"Authorization\\": \\"Bearer [\w.-]+\\"\\n\}/);
});

test('the log of the demo image has the format of the log in production', async () => {
  const { lines, line } = await startDev({ NODE_ENV: 'production' });
  await line(/starting/);
  const written = textOfLog((log) => log.info('starting'));
  const found = lines.find((text) => text.includes('starting')) ?? '{}';
  const fieldsOf = (text: string) => Object.keys(JSON.parse(text));
  expect(fieldsOf(found)).toEqual(expect.arrayContaining(fieldsOf(written)));
});

test('an occupied port is reported with the page that names its variable', async () => {
  const { origin } = await startHttpServer(() => undefined);
  const dev = startProcess(['dev/start.ts'], { env: { DEV_ISSUER_PORT: new URL(origin).port } });

  expect(await dev.exited).toEqual({ code: 1, signal: null });
  expect(dev.errorText()).toMatch(/EADDRINUSE.*\ndocs\/how-to\/develop\.md names the variable/);
});
