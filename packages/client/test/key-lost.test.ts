import { expect, test } from '@jest/globals';
import { agedStore } from '../../../testkit/aged-store.ts';
import { startDroppingProxy } from '../../../testkit/dropping-proxy.ts';
import { until } from '../../../testkit/eventually.ts';
import { startTestGateway } from '../../../testkit/gateway.ts';
import { json, startService } from '../../../testkit/service.ts';
import { createLedgerFetch, createWrite, readField } from '../src/index.ts';

type Data = { save: { __typename: string } };

const query = `mutation ($description: String) {
  save: saveApprovers(approvers: [{ name: "Ada", description: $description }]) { __typename }
}`;
const upload =
  'mutation ($csv: String!) { save: uploadWorkflowCsv(input: { fileName: "a.csv", csv: $csv }) { __typename } }';
const small = { query };
/** More than 256 KiB, which is not sent again. */
const large = { query: upload, variables: { csv: 'a,b\n'.repeat(70_000) } };

const removals = {
  nothing: {},
  'the extensions': { extensions: true },
  'the header': { header: true },
  'the header and the extensions': { header: true, extensions: true },
};

/** Starts a service, a gateway, and a proxy before it. The write returns what the client package tells of it. */
async function start(removed: object) {
  const service = await startService(json({ status: 0, unresolved: '' }));
  const gateway = await startTestGateway(service, { IDEMPOTENCY_STORE: await agedStore() });
  const proxy = await startDroppingProxy(`${gateway.url}/graphql`, removed);
  const options = { delayMs: 2, patienceMs: 200, token: () => gateway.token };
  const ledgerFetch = createLedgerFetch(options);
  const send = async (body: object, headers = {}) => {
    const response = await ledgerFetch(proxy.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  return { service, gateway, proxy, options, send };
}

const done = { kind: 'member', member: { __typename: expect.stringMatching(/Saved|Uploaded/) } };
const unknown = {
  kind: 'unknown',
  error: {
    code: 'KEY_NOT_CONFIRMED',
    message: expect.stringContaining('must forward the request header Idempotency-Key'),
  },
};

const losses: [string, object, number][] = [
  ['no response is lost', small, 0],
  ['one response is lost', small, 1],
  ['all responses to writes are lost', small, Number.POSITIVE_INFINITY],
  ['the response to a large body is lost', large, 1],
];

test.each(
  Object.entries(removals).flatMap(([what, removed]) =>
    losses.map(([loss, body, count]) => ({ what, removed, loss, body, count })),
  ),
)(
  'if a proxy removes $what and $loss, the write arrives once, and the client is told the truth',
  async (row) => {
    const { service, proxy, send } = await start(row.removed);
    proxy.lose(row.count);
    const result = readField<Data, 'save'>(await send(row.body), 'save');
    const isLost = row.what === 'the header and the extensions' && row.count > 0;
    expect(result).toMatchObject(isLost ? unknown : done);
    expect(service.received).toHaveLength(1);
  },
);

test.each([1, Number.POSITIVE_INFINITY])(
  'if a proxy begins to remove keys while a page is open and loses %s responses, the next write arrives once',
  async (count) => {
    const removed: { header?: boolean; extensions?: boolean } = {};
    const { service, proxy, send } = await start(removed);
    expect(readField<Data, 'save'>(await send(small), 'save')).toMatchObject(done);
    Object.assign(removed, { header: true, extensions: true });
    proxy.lose(count);
    expect(readField<Data, 'save'>(await send(small), 'save')).toMatchObject(unknown);
    expect(service.received).toHaveLength(2);
  },
);

test('a page shows that the outcome is unknown and why, lets the user check, and the log of the gateway says what to change', async () => {
  const { gateway, proxy, options, send } = await start({ header: true, extensions: true });
  const write = createWrite<'save', Data['save'], object>({
    ...options,
    field: 'save',
    url: proxy.url,
    send: (headers, body) => send(body, headers),
  });
  proxy.lose(1);
  write.submit(small);
  await until(() => write.getState().phase !== 'sending');
  expect(write.getState()).toEqual({
    phase: 'unknown',
    result: expect.objectContaining({ error: expect.objectContaining(unknown.error) }),
    mayAsk: false,
    mayDismiss: true,
  });
  const line = await gateway.logLine({ msg: 'write without idempotency key' });
  expect(line.hint).toMatch('a proxy or router removes it');
});
