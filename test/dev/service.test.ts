import { afterEach, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import { z } from 'zod';
import {
  type ReferenceService,
  type ReferenceServiceOptions,
  type ScenarioName,
  scenarios,
  startReferenceService,
} from '../../dev/service.ts';
import { exchange } from '../support/raw-request.ts';

const actions = {
  restartWorkflowAndMoveToNext: '48310',
  reStoreGlobalSolution: '48311',
  reStoreSolution: '9007199254740993',
  restartWorkflow2: '9223372036854775807',
  updateSolutionGuide: '48313',
  upgradeToHQ: '48314',
};
const codesPath = 'getGLCodes5?target=4&project=north-plant&includeHide=false';

const { publicKey, privateKey } = await generateKeyPair('ES256');
const issuerKeys: JSONWebKeySet = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] };

let running: ReferenceService | undefined;

afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: ReferenceServiceOptions = {}) {
  running = await startReferenceService({ issuerKeys, ...options });
  return running;
}

function token(claims: Record<string, unknown> = {}, key = privateKey) {
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).setExpirationTime('1h').sign(key);
}

type Call = {
  method?: string;
  body?: string;
  type?: string;
  claims?: Record<string, unknown>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

async function call(path: string, { claims, headers, type, ...init }: Call = {}) {
  const { url } = running ?? (await start());
  return fetch(url + path, {
    ...init,
    headers: {
      authorization: `Bearer ${await token(claims)}`,
      ...(init.body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
      ...headers,
    },
  });
}

function post(path: string, body: unknown, more: Call = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return call(path, { method: 'POST', body: text, ...more });
}

/** The body of a response, as JSON. */
const bodyOf = async (response: Promise<Response>) => JSON.parse(await (await response).text());

async function expectRejected(pending: Promise<Response>, status: number) {
  const response = await pending;
  expect([response.status, await response.text()]).toEqual([status, '']);
  return response;
}

// Success

test('getGLCodes5 returns the visible codes of a project, and the hidden ones on request', async () => {
  const response = await call(codesPath);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const { service_status, list } = await bodyOf(Promise.resolve(response));
  expect(service_status).toEqual({ invoice_id: 48213, message: '', status: 0 });
  expect(list).toHaveLength(14);
  const first = { Code: '1200', Name: 'Spare parts in stock', Value: 'NP-1200', Hide: 0 };
  expect(list[0]).toEqual(first);

  const { list: all } = await bodyOf(call(codesPath.replace('false', 'true')));
  expect(all).toHaveLength(16);
  expect(all.at(-1)).toMatchObject({ Code: '9999', Hide: 1 });
});

test.each(['nowhere', '', '__proto__'])('getGLCodes5 has no codes for "%s"', async (project) => {
  const service_status = { invoice_id: 48213, message: '', status: 0 };
  const body = await bodyOf(call(`getGLCodes5?target=-1&project=${project}&includeHide=true`));
  expect(body).toEqual({ service_status, list: [] });
});

test.each([
  ['text/plain', 'text/plain'],
  ['text/json', 'text/json'],
  ['image/png, text/json;q=0.5', 'text/json'],
  ['image/png', 'application/json'],
])('getGLCodes5 responds to Accept %s with %s', async (accept, type) => {
  const response = await call(codesPath, { headers: { accept } });
  expect(response.headers.get('content-type')).toContain(type);
  expect((await bodyOf(Promise.resolve(response))).list).toHaveLength(14);
});

test('saveApproverList stores the approvers exactly', async () => {
  const service = await start();
  const approvers = `[{"approver_id":9007199254740993,"claim_limit":250.5,"name":"Ada","is_expense_claim":true},
      {"workflow_id":-92233720368547758089,"approver_id":7,"email":null}]`;
  const message = 'Approvers saved: 2.';
  const saved = await bodyOf(post('saveApproverList', approvers));
  expect(saved).toEqual({ invoice_id: 48214, message, status: 0 });
  expect(service.approvers()).toEqual([
    { approver_id: 9007199254740993n, claim_limit: 250.5, name: 'Ada', is_expense_claim: true },
    { workflow_id: -92233720368547758089n, approver_id: 7, email: null },
  ]);
});

test('saveApproverList accepts all twelve fields', async () => {
  const service = await start();
  const texts = 'description email email_upload my_bank_account my_email name workflow_name';
  const approver = {
    ...{ approver_id: 1, workflow_id: 3, claim_limit: 2 },
    ...{ is_disable_approval: false, is_expense_claim: true },
    ...Object.fromEntries(texts.split(' ').map((name) => [name, name])),
  };
  expect((await post('saveApproverList', [approver])).status).toBe(200);
  expect(service.approvers()).toEqual([approver]);
});

test.each([
  ['INV-1,4010\r\nINV-2,\r\nINV-3, ,x\r\n', 'INV-2,\nINV-3, ,x'],
  ['a,b\n'.repeat(786_432), ''],
  [undefined, ''],
])('updateWorkflowCSV returns the rows without a second column: %#', async (csv, unresolved) => {
  const file = csv && {
    PictureName: 'codes.csv',
    PictureStream: Buffer.from(csv).toString('base64'),
    service_status: { invoice_id: 1, message: 'm' },
  };
  expect(await bodyOf(post('updateWorkflowCSV', file ?? {}))).toEqual({ unresolved });
});

test.each(Object.entries(actions))('%s returns invoice %s', async (path, invoiceId) => {
  const response = await call(path);
  expect(response.status).toBe(200);
  expect(await response.text()).toMatch(
    new RegExp(`^{"invoice_id":${invoiceId},"message":"[^"]+","status":0}$`),
  );
});

// Rejections

test.each([
  ['POST', 'getGLCodes5', 'GET'],
  ['HEAD', 'restartWorkflow2', 'GET'],
  ['PUT', 'saveApproverList', 'POST'],
  ['GET', 'updateWorkflowCSV?a=1', 'POST'],
  ...Object.keys(actions).map((path) => ['POST', path, 'GET']),
])('%s %s is not allowed', async (method = '', path = '', allowed) => {
  const response = await expectRejected(call(path, { method }), 405);
  expect(response.headers.get('allow')).toBe(allowed);
});

test.each([
  ...['', 'restartworkflow2', 'restartWorkflow2/', 'restartWorkflow'].map((path) => [404, path]),
  [400, 'getGLCodes5'],
  [400, 'getGLCodes5?project=a&includeHide=true'],
  [400, 'getGLCodes5?target=4&includeHide=true'],
  [400, 'getGLCodes5?target=4&project=a'],
  [400, 'getGLCodes5?target=13&project=a&includeHide=true'],
  [400, 'getGLCodes5?target=04&project=a&includeHide=true'],
  [400, 'getGLCodes5?target=4&target=5&project=a&includeHide=true'],
  [400, 'getGLCodes5?target=4&project=a&includeHide=1'],
  [400, 'getGLCodes5?target=4&project=a&includeHide=True'],
  [400, 'getGLCodes5?target=4&project=a&includeHide=true&more=1'],
  [400, 'getGLCodes5?target=4&project=scenario:unknown&includeHide=true'],
  [400, 'restartWorkflow2?a=1'],
] as [number, string][])('HTTP %i for a GET of %s', async (status, path) => {
  await expectRejected(call(path), status);
});

test.each([
  ...['1', '27', '360', '500', '-6', '-1'].map((option) => [200, `whatever=${option}`] as const),
  ...['a=28', 'a=x', 'a=', 'a=1&b=2', 'a=1&a=2', 'a=01', 'a=0'].map(
    (query) => [400, query] as const,
  ),
])('HTTP %i for an upload with the query %s', async (status, query) => {
  expect((await post(`updateWorkflowCSV?${query}`, {})).status).toBe(status);
});

test('the method is checked before the content type, and a POST needs a body', async () => {
  await expectRejected(post('restartWorkflow2', '<a/>', { type: 'text/xml' }), 405);
  await expectRejected(call('saveApproverList', { method: 'POST' }), 400);
});

const malformed = {
  saveApproverList: [
    '{}',
    '[{"approverId":1}]',
    '[{"approver_id":"1"}]',
    '[{"approver_id":1.5}]',
    '[{"approver_id":1e30}]',
    '[{"is_expense_claim":"true"}]',
    '[{"claim_limit":"1"}]',
    '[null]',
    '[{]',
    '',
  ],
  updateWorkflowCSV: [
    '[]',
    '{"PictureStream":"YQ"}',
    '{"PictureStream":"_-8="}',
    '{"PictureStream":"YWJj\\n"}',
    '{"PictureStream":"a,b"}',
    '{"PictureName":1}',
    '{"Picture":"a"}',
    '{"service_status":{"status":0}}',
    '{"service_status":{"invoice_id":"1"}}',
  ],
};

test.each(Object.entries(malformed))('%s rejects a malformed body', async (path, bodies) => {
  const service = await start();
  for (const body of bodies) {
    const { status } = await post(path, body);
    expect([body, status]).toEqual([body, 400]);
  }
  expect(service.approvers()).toEqual([]);
});

test.each([
  ['application/json; charset=utf-8', 200],
  ['text/json', 200],
  ['application/vnd.approvers+json', 200],
  ['text/plain', 415],
  ['text/csv', 415],
  ['application/jsonp', 415],
  ['text/vnd.approvers+json', 415],
])('a body of type %s gets %i', async (type, status) => {
  expect((await post('saveApproverList', [], { type })).status).toBe(status);
});

test.each([
  ['a body over 32 MiB', 'POST /saveApproverList', 32 * 1024 * 1024 + 1, '', 413],
  ['a GET with a body', 'GET /restartWorkflow2', 2, '{}', 400],
])('%s is rejected', async (_, line, length, body, status) => {
  const { url } = await start();
  const authorization = `authorization: Bearer ${await token()}\ncontent-type: application/json`;
  const head = `${line} HTTP/1.1\nhost: a\nconnection: close\n${authorization}`;
  const response = await exchange(url, `${head}\ncontent-length: ${length}\n\n${body}`);
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

test.each(['', 'Bearer', 'Bearer ', 'Bearer a.b', 'Bearer a.b.c', 'Basic YTpi', 'Bearer a.b.c d'])(
  'the Authorization header "%s" is rejected',
  async (authorization) => {
    const response = await expectRejected(call(codesPath, { headers: { authorization } }), 401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
  },
);

test.each(['saveApproverList', 'updateWorkflowCSV', ...Object.keys(actions)])(
  '%s checks the token before the body',
  async (path) => {
    const { url } = await start();
    const init = path in malformed ? { method: 'POST', body: 'not JSON' } : {};
    await expectRejected(fetch(url + path, init), 401);
  },
);

test('a token of another issuer is rejected, and without keys any well-formed JWT is accepted', async () => {
  const other = await generateKeyPair('ES256');
  const headers = { authorization: `Bearer ${await token({}, other.privateKey)}` };
  await expectRejected(call(codesPath, { headers }), 401);
  await running?.close();
  running = await startReferenceService();
  expect((await call(codesPath, { headers })).status).toBe(200);
  await expectRejected(call(codesPath, { headers: { authorization: 'Bearer a.b.c' } }), 401);
});

// Scenarios

test('every scenario has a description, and an unknown one in a token is rejected', async () => {
  for (const { description } of scenarios) expect(description).toMatch(/^[A-Z].+\.$/);
  await expectRejected(call(codesPath, { claims: { scenario: 'unknown' } }), 400);
});

/** Saves an approver in a scenario. */
const save = (scenario: ScenarioName, more: Call = {}) =>
  post('saveApproverList', [{ name: 'Ada' }], { claims: { scenario }, ...more });

test.each<[ScenarioName, number]>([
  ['failed', 1],
  ['no-more-invoices', 2],
  ['not-permitted', 3],
  ['unrecognized', 7],
])('%s: every operation responds with status %i', async (scenario, status) => {
  const service = await start();
  const claims = { scenario };
  const record = { invoice_id: 0, message: expect.stringMatching(/.+/), status };
  const list = { service_status: record, list: [] };
  expect(await bodyOf(call(codesPath, { claims }))).toEqual(list);
  const writes = [save(scenario), post('updateWorkflowCSV', {}, { claims })];
  for (const path of Object.keys(actions)) writes.push(call(path, { claims }));
  for (const write of writes) expect(await bodyOf(write)).toEqual(record);
  expect(service.approvers()).toEqual([]);
});

test('a project can name the scenario, and has precedence over the token', async () => {
  const path = 'getGLCodes5?target=4&project=scenario:not-permitted&includeHide=false';
  const body = await bodyOf(call(path, { claims: { scenario: 'failed' } }));
  expect(body.service_status).toMatchObject({ status: 3 });
});

test.each([400, 401, 403, 500, 503] as const)(
  'http-%i: the status, and the operation has no effect',
  async (status) => {
    const service = await start();
    const scenario: ScenarioName = `http-${status}`;
    await expectRejected(call(codesPath, { claims: { scenario } }), status);
    await expectRejected(save(scenario), status);
    await expectRejected(call('restartWorkflow2', { claims: { scenario } }), status);
    expect(service.approvers()).toEqual([]);
  },
);

test('slow: the response is delayed', async () => {
  const service = await start({ slowMs: 50 });
  const began = performance.now();
  expect(await bodyOf(save('slow'))).toMatchObject({ status: 0 });
  // A timer may fire a millisecond early.
  expect(performance.now() - began).toBeGreaterThanOrEqual(49);
  expect(service.approvers()).toEqual([{ name: 'Ada' }]);
});

test('slow: closing the service does not wait for the response', async () => {
  const service = await start();
  const lost = failure(save('slow'));
  await until(() => service.approvers().length === 1);
  await service.close();
  expect(await lost).toBe('UND_ERR_SOCKET');
});

test('slow: the timer ends when the client disconnects', async () => {
  const service = await start();
  const before = activeTimers();
  const client = new AbortController();
  const lost = expect(save('slow', { signal: client.signal })).rejects.toThrow();
  await until(() => service.approvers().length === 1);
  expect(activeTimers()).toBe(before + 1);
  client.abort();
  await lost;
  await until(() => activeTimers() === before);
});

test('reset: the operation has its effect, and the connection is reset', async () => {
  const service = await start();
  expect(await failure(save('reset'))).toBe('ECONNRESET');
  const restart = call('restartWorkflow2', { claims: { scenario: 'reset' } });
  expect(await failure(restart)).toBe('ECONNRESET');
  expect(service.approvers()).toEqual([{ name: 'Ada' }]);
});

test('cut-off: the operation has its effect, and the response is cut off', async () => {
  const service = await start();
  const response = await save('cut-off');
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow('terminated');
  expect(service.approvers()).toEqual([{ name: 'Ada' }]);
});

test('not-json: 200 with text', async () => {
  const response = await call('restartWorkflow2', { claims: { scenario: 'not-json' } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(await response.text()).toMatch(/^The service/);
});

/** The error code of a request without a response. */
async function failure(response: Promise<Response>): Promise<unknown> {
  try {
    return (await response).status;
  } catch (error) {
    return z.object({ cause: z.object({ code: z.string() }) }).parse(error).cause.code;
  }
}

/** Waits for a condition, which is checked on each iteration of the event loop. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}
