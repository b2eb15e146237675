import { expect, test } from '@jest/globals';
import { checkResponse, contract } from '../../dev/contract.ts';
import { startReferenceService } from '../../dev/service.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { startProcess } from '../../testkit/process.ts';
import { startStub } from '../../testkit/service.ts';
import { createSigningKey } from '../support/signing-key.ts';

const { sign } = await createSigningKey('one');
const token = await sign({});

/** Starts a service that responds with this body, and keeps the requests that it gets. */
async function startResponding(body: string, status = 200) {
  const requests: string[] = [];
  const { url } = await startStub((response, { method, url, headers }) => {
    requests.push(`${method} ${url} ${headers.authorization}`);
    response.writeHead(status, { 'content-type': 'application/json', location: '/upgradeToHQ' });
    response.end(body);
  });
  return { url, requests };
}

test('the reference service responds as declared, with the query that is asked for', async () => {
  const service = await startReferenceService();
  closeAfterTest(() => service.close());
  const query = 'target=5&project=north-plant&includeHide=true';

  const { text, isFine } = await checkResponse(service.url, token, query);

  expect(text).toContain('  list[] (16 times)\n');
  expect(text).toContain('Everything in the response is declared.');
  expect(isFine).toBe(true);
});

test('unknown fields, types and statuses are reported with their paths, and no value of a text', async () => {
  const { url } = await startResponding(
    `{"service_status":{"invoice_id":1.5,"message":"secret","status":7,"trace":{}},
      "list":[{"Code":4010,"Name":"secret","Cost":10.50},{"Hide":9007199254740993,"Cost":null}]}`,
  );

  const { text, isFine } = await checkResponse(url, token);

  const [, differences] = /The declarations do not know:\n(.*?)\n\n/s.exec(text) ?? [];
  expect(differences?.split('\n').toSorted()).toEqual([
    '  list[].Code: expected string or null, got number (1 time)',
    '  list[].Cost: not declared, null (1 time)',
    '  list[].Cost: not declared, number (1 time)',
    '  list[].Hide: expected integer or null, got number (1 time)',
    '  service_status.invoice_id: expected integer or null, got number (1 time)',
    '  service_status.status: expected a documented status, got 7 (1 time)',
    '  service_status.trace: not declared, object (1 time)',
  ]);
  expect(text).toMatch(/Declared, but in no record:\n {2}list\[\]\.Value\n/);
  expect(text).not.toContain('secret');
  expect(isFine).toBe(false);
});

test('it sends one read, and follows no redirect', async () => {
  for (const status of [200, 302, 401, 503]) {
    const { url, requests } = await startResponding('{}', status);

    const { text, isFine } = await checkResponse(url.replace(/\/$/, ''), token);

    expect(isFine).toBe(status === 200);
    expect(text).toContain(`\n${status}, application/json, 2 bytes\n`);
    expect(requests).toEqual([
      `GET /getGLCodes5?target=-1&project=&includeHide=false Bearer ${token}`,
    ]);
  }
});

test('a 400 says why, and what to send instead of the default parameters', async () => {
  const { url } = await startStub((response) =>
    response
      .writeHead(400, { 'content-type': 'application/problem+json' })
      .end('{"errors":{"Project":["The project field is required."]}}'),
  );
  const reason =
    '\nThe service rejects the parameters:\n  project: The project field is required.\n';
  const { text } = await checkResponse(url, token);
  expect(text).toContain(reason);
  expect(text).toContain("\n  --query 'target=5&project=");
  const again = await checkResponse(url, token, 'target=5');
  expect(again.text).toContain(reason);
  expect(again.text).not.toContain('--query');
});

test('the command exits with 0 or 1, takes the token from the environment, and says what is missing', async () => {
  const { url } = await startResponding('{"service_status":{"status":0},"list":[]}');
  const strange = await startResponding('{"items":[]}');

  const command = startProcess(['dev/contract.ts', strange.url], {
    env: { CONTRACT_TOKEN: token },
  });
  expect((await command.exited).code).toBe(1);
  expect(command.lines.join('\n')).toContain('items: not declared');
  expect(command.errorText()).toBe('');

  expect(await contract([url], token)).toMatchObject({ error: '', status: 0 });
  for (const [args, error] of [
    [['http://127.0.0.1:1/', '--token', token], /^.+\n$/],
    [[url], /^There is no token\..*CONTRACT_TOKEN.*\n\nUsage:/],
    [['ledger.example.com', '--token', token], /^The base URL is missing or not valid\.\n\nUsage:/],
    [[url, '--token', token, '--verbose'], /^Unknown option '--verbose'/],
    [[url, '--stand-in', '0'], /^The port of the stand-in must be/],
  ] as const) {
    const failed = { output: '', error: expect.stringMatching(error), status: 1 };
    expect(await contract([...args])).toEqual(failed);
  }
});
