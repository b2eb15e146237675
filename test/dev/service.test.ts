import { beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import {
  type ReferenceService,
  type ReferenceServiceOptions,
  type ScenarioName,
  startReferenceService,
} from '../../dev/service.ts';
import { writeJson } from '../../src/lib/json.ts';
import { operations } from '../../src/upstream/declarations.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { until } from '../../testkit/eventually.ts';
import { exchange, requestOnly } from '../support/raw-request.ts';
import { createSigningKey } from '../support/signing-key.ts';

const actions = Object.values(operations).filter(({ action }) => action !== undefined);
const codesPath = 'getGLCodes5?target=4&project=north-plant&includeHide=false';

const { sign, jwk } = await createSigningKey('one');

type Call = {
  method?: string;
  /** As JSON, unless it is a string. */
  body?: unknown;
  scenario?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/** Starts a service, and returns it with a function that sends a request with a valid token. */
async function start(options: ReferenceServiceOptions = {}) {
  const service = await startReferenceService({ issuerKeys: { keys: [jwk] }, ...options });
  closeAfterTest(() => service.close());
  return { service, call: caller(service) };
}

function caller({ url }: ReferenceService) {
  return async (path: string, { body, scenario, headers, ...init }: Call = {}) => {
    const authorization = `Bearer ${await sign(scenario === undefined ? {} : { scenario })}`;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const posted = body !== undefined && { method: 'POST', body: text };
    const type = posted && { 'content-type': 'application/json' };
    const sent = { authorization, ...type, ...headers };
    return fetch(url + path, { ...posted, ...init, headers: sent });
  };
}

/** A service for all tests that leave nothing in it. */
let service: ReferenceService;
let call: ReturnType<typeof caller>;
beforeAll(async () => {
  ({ service, call } = await start());
});

const json = async (response: Promise<Response>) => JSON.parse(await (await response).text());

async function expectRejected(pending: Promise<Response>, status: number) {
  const response = await pending;
  expect([response.status, await response.text()]).toEqual([status, '']);
  return response;
}

// Success

test('getGLCodes5 returns the visible codes of a project, and the hidden ones on request', async () => {
  const { service_status, list } = await json(call(codesPath));
  expect(service_status).toEqual({ invoice_id: 48213, message: '', status: 0 });
  expect(list).toHaveLength(14);
  const first = { Code: '1200', Name: 'Spare parts in stock', Value: 'NP-1200', Hide: 0 };
  expect(list[0]).toMatchObject(first);

  const { list: all } = await json(call(codesPath.replace('false', 'true')));
  expect(all).toHaveLength(16);
  expect(all.at(-1)).toMatchObject({ Code: '9999', Hide: 1 });
  for (const project of ['nowhere', '', '__proto__']) {
    const path = `getGLCodes5?target=-1&project=${project}&includeHide=true`;
    expect(await json(call(path))).toEqual({ service_status, list: [] });
  }
});

test('saveApproverList stores the approvers with all twelve fields, exactly', async () => {
  const { service, call } = await start();
  const body = `[{"approver_id":9007199254740993,"claim_limit":250.5,"name":"Ada","is_expense_claim":true},
      {"workflow_id":-92233720368547758089,"approver_id":7,"email":null}]`;
  const message = 'Approvers saved: 2.';
  const saved = { invoice_id: 48214, message, status: 0 };
  expect(await json(call('saveApproverList', { body }))).toEqual(saved);
  const texts = 'description email email_upload my_bank_account my_email name workflow_name';
  const approver = {
    ...{ approver_id: 1, workflow_id: 3, claim_limit: 2 },
    ...{ is_disable_approval: false, is_expense_claim: true },
    ...Object.fromEntries(texts.split(' ').map((name) => [name, name])),
  };
  expect((await call('saveApproverList', { body: [approver] })).status).toBe(200);
  expect(`[${service.approvers().map((one) => writeJson(one))}]`).toBe(
    `${body.slice(0, -1).replaceAll(/\s/g, '')},${JSON.stringify(approver)}]`,
  );
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
  for (const query of ['', ...['1', '27', '360', '500', '-6', '-1'].map((n) => `?whatever=${n}`)]) {
    const response = call(`updateWorkflowCSV${query}`, { body: file ?? {} });
    expect(await json(response)).toEqual({ unresolved });
  }
});

test.each(actions)(
  '$name returns the sample of its row, with all digits',
  async ({ name, sample }) => {
    expect(await (await call(name)).text()).toBe(sample);
  },
);

// Rejections

test.each([
  ['POST', 'getGLCodes5', 'GET'],
  ['HEAD', 'restartWorkflow2', 'GET'],
  ['PUT', 'saveApproverList', 'POST'],
  ['GET', 'updateWorkflowCSV?a=1', 'POST'],
])('%s %s is not allowed', async (method, path, allowed) => {
  const response = await expectRejected(call(path, { method }), 405);
  expect(response.headers.get('allow')).toBe(allowed);
});

const codesQueries = [
  '|project=a&includeHide=true|target=4&includeHide=true|target=4&project=a',
  'target=13&project=a&includeHide=true|target=04&project=a&includeHide=true',
  'target=4&target=5&project=a&includeHide=true|target=4&project=a&includeHide=1',
  'target=4&project=a&includeHide=True|target=4&project=a&includeHide=true&more=1',
  'target=4&project=scenario:unknown&includeHide=true',
].join('|');

test.each(['', 'restartworkflow2', 'restartWorkflow2/', 'restartWorkflow'])(
  'HTTP 404 for "%s"',
  (path) => expectRejected(call(path), 404),
);

const options = ['a=28', 'a=x', 'a=', 'a=1&b=2', 'a=1&a=2', 'a=01', 'a=0'];
const streams = ['YQ', '_-8=', 'YWJj\n', 'a,b'].map((PictureStream) => ({ PictureStream }));

test.each<[path: string, ...bodies: unknown[]]>([
  ...codesQueries.split('|').map((query): [string] => [`getGLCodes5?${query}`]),
  ['restartWorkflow2?a=1'],
  ...options.map((query): [string, object] => [`updateWorkflowCSV?${query}`, {}]),
  ['saveApproverList', '{}', 'null', '[null]', '[{]', '', [{ approverId: 1 }]],
  ['saveApproverList', ...['"1"', '1.5', '1e30'].map((id) => `[{"approver_id":${id}}]`)],
  ['saveApproverList', [{ is_expense_claim: 'true' }], [{ claim_limit: '1' }]],
  ['updateWorkflowCSV', '[]', { PictureName: 1 }, { Picture: 'a' }, ...streams],
  ['updateWorkflowCSV', { service_status: { status: 0 } }, { service_status: { invoice_id: '1' } }],
])('HTTP 400 for %s %j', async (path, ...bodies) => {
  if (bodies.length === 0) await expectRejected(call(path), 400);
  for (const body of bodies) await expectRejected(call(path, { body }), 400);
  expect(service.approvers()).toEqual([]);
});

test.each([
  ['application/json; charset=utf-8', 200],
  ['text/json', 200],
  ['application/vnd.approvers+json', 200],
  ['text/plain', 415],
  ['application/jsonp', 415],
  ['text/vnd.approvers+json', 415],
])('a body of type %s gets %i', async (type, status) => {
  const headers = { 'content-type': type };
  expect((await call('saveApproverList', { body: [], headers })).status).toBe(status);
  // The method is checked before.
  await expectRejected(call('restartWorkflow2', { body: [], headers }), 405);
});

test('a GET with a body is rejected', async () => {
  const head = `authorization: Bearer ${await sign()}\ncontent-type: application/json`;
  const request = requestOnly('GET /restartWorkflow2', head, '{}');
  expect(await exchange(service.url, request)).toMatch(/^HTTP\/1\.1 400 /);
});

test('a token is checked before the body, and without keys any well-formed JWT is accepted', async () => {
  const other = await createSigningKey('one');
  const foreign = `Bearer ${await other.sign()}`;
  const expired = `Bearer ${await sign({ exp: 1 })}`;
  const malformed = ['', 'Bearer', 'Bearer ', 'Bearer a.b', 'Bearer a.b.c', 'Basic YTpi'];
  for (const authorization of [foreign, `${foreign} d`, expired, ...malformed]) {
    const response = await expectRejected(call(codesPath, { headers: { authorization } }), 401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
  }
  const headers = { authorization: foreign };
  await expectRejected(call('saveApproverList', { body: 'not JSON', headers }), 401);

  const withoutKeys = await startReferenceService();
  closeAfterTest(() => withoutKeys.close());
  const lenient = caller(withoutKeys);
  expect((await lenient(codesPath, { headers })).status).toBe(200);
  await expectRejected(lenient(codesPath, { headers: { authorization: 'Bearer a.b.c' } }), 401);
});

// Scenarios

/** Starts a service, and functions that save an approver and restart a workflow in a scenario. */
async function startScenario(scenario: ScenarioName, options: ReferenceServiceOptions = {}) {
  const { service, call } = await start(options);
  const send = (path: string, more: Call = {}) => call(path, { scenario, ...more });
  const save = (signal?: AbortSignal) =>
    send('saveApproverList', { body: [{ name: 'Ada' }], ...(signal && { signal }) });
  return { service, send, save, restart: () => send('restartWorkflow2') };
}

test.each<[ScenarioName, number]>([
  ['failed', 1],
  ['no-more-invoices', 2],
  ['not-permitted', 3],
  ['unrecognized', 7],
])('%s: every operation responds with status %i', async (scenario, status) => {
  const { service, send, save } = await startScenario(scenario);
  const record = { invoice_id: 0, message: expect.stringMatching(/.+/), status };
  expect(await json(send(codesPath))).toEqual({ service_status: record, list: [] });
  const writes = [save(), send('updateWorkflowCSV', { body: {} })];
  for (const { name } of actions) writes.push(send(name));
  for (const write of writes) expect(await json(write)).toEqual(record);
  expect(service.approvers()).toEqual([]);
});

test('a project can name the scenario, and has precedence over the token', async () => {
  const { send } = await startScenario('failed');
  const body = await json(send(codesPath.replace('north-plant', 'scenario:not-permitted')));
  expect(body.service_status).toMatchObject({ status: 3 });
});

test.each([400, 401, 403, 500, 503] as const)(
  'http-%i: the status, and the operation has no effect',
  async (status) => {
    const { service, send, save, restart } = await startScenario(`http-${status}`);
    for (const call of [send(codesPath), save(), restart()]) await expectRejected(call, status);
    expect(service.approvers()).toEqual([]);
  },
);

test('slow: the operation has its effect at once, its response comes later, and closing does not wait', async () => {
  const soon = await startScenario('slow', { slowMs: 50 });
  expect(await json(soon.save())).toMatchObject({ status: 0 });
  const { service, save } = await startScenario('slow');
  const lost = failure(save());
  await until(() => service.approvers().length === 1);
  await service.close();
  expect(await lost).toBe('UND_ERR_SOCKET');
});

test.each<[ScenarioName, code: string]>([
  ['reset', 'ECONNRESET'],
  ['cut-off', '200 UND_ERR_SOCKET'],
])('%s: the operation has its effect, and its response is lost', async (scenario, code) => {
  const { service, save } = await startScenario(scenario);
  expect(await failure(save())).toBe(code);
  expect(service.approvers()).toEqual([{ name: 'Ada' }]);
});

test('not-json: 200 with text', async () => {
  const response = await (await startScenario('not-json')).restart();
  expect(response.status).toBe(200);
  expect(await response.text()).toMatch(/^The service/);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
});

/** The error code of a request without a whole response, after the status if that has arrived. */
async function failure(pending: Promise<Response>): Promise<string> {
  let status = '';
  try {
    const response = await pending;
    status = `${response.status} `;
    return status + (await response.text());
  } catch (error) {
    return status + z.object({ cause: z.object({ code: z.string() }) }).parse(error).cause.code;
  }
}
