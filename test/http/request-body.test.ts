import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { json, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const query =
  'mutation { saveApprovers(approvers: [{ name: "NAME" }]) { ... on LedgerStatus { message } } }';

/** The body of a request whose approver has a name of these bytes. */
function bodyOf(name: Buffer): Buffer {
  const [before = '', after = ''] = JSON.stringify({ query }).split('NAME');
  return Buffer.concat([Buffer.from(before), name, Buffer.from(after)]);
}

async function post(body: Buffer) {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);
  const { status } = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` },
    body: new Uint8Array(body),
  });
  return { status, sent: service.received.map(({ body }) => body) };
}

test.each([
  ['a lone continuation byte', [0x80]],
  ['a truncated character', [0xe2, 0x82]],
  ['an overlong encoding', [0xc0, 0xaf]],
  ['an encoded surrogate', [0xed, 0xa0, 0x80]],
  ['Latin-1', [0x4d, 0xfc, 0x6c, 0x6c, 0x65, 0x72]],
])('a body with %s is rejected before sending', async (_, bytes) => {
  expect(await post(bodyOf(Buffer.from(bytes)))).toEqual({ status: 400, sent: [] });
});

test('text outside ASCII arrives unchanged', async () => {
  const { status, sent } = await post(bodyOf(Buffer.from('Müller 🧾 \ufffd')));
  expect(status).toBe(200);
  expect(sent).toEqual(['[{"name":"Müller 🧾 \ufffd"}]']);
});

const share = shareGateway();
const approvers = (list: string) =>
  `{"query":"mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }","variables":{"a":${list}}}`;
const keys = (count: number) => Array.from({ length: count }, (_, n) => `"k${n}":1`).join();

test.each([
  ['a million keys', `[{${keys(1_000_000)}}]`, 'values in its variables'],
  ['40,000 values', `[${Array(40_000).fill('1').join()}]`, 'values in its variables'],
  ['6,000 lists', `[${Array(6_000).fill('[]').join()}]`, 'lists and objects in its variables'],
  ['6,000 objects', `[${Array(6_000).fill('{}').join()}]`, 'lists and objects in its variables'],
  [
    '5,900 lists of six',
    `[${Array(5_900).fill('[1,1,1,1,1,1]').join()}]`,
    'values in its variables',
  ],
  ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000), 'levels of nesting'],
  ['60 levels of objects', '{"a":'.repeat(60) + 1 + '}'.repeat(60), 'levels of nesting'],
])('variables with %s are rejected', async (_, list, reason) => {
  const { service, gateway } = share(json({ status: 0 }));
  const { status, text } = await gateway.post(approvers(list));
  expect(status).toBe(400);
  expect(JSON.parse(text).errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining(reason),
      extensions: expect.objectContaining({ code: 'OPERATION_LIMIT_EXCEEDED' }),
    }),
  ]);
  expect(service.received).toEqual([]);
});

test.each([
  ['39,000 values', `[{}],"b":[${Array(39_000).fill('1').join()}]`, 1],
  ['brackets and commas in a string', `[{}],"b":${JSON.stringify('[{,'.repeat(100_000))}`, 1],
  ['5,900 objects', `[${Array(5_900).fill('{}').join()}]`, 5_900],
  ['escaped quotes in a string', `[{}],"b":${JSON.stringify('"\\,'.repeat(50_000))}`, 1],
])('variables with %s are sent', async (_, list, count) => {
  const { service, gateway } = share(json({ status: 0 }));
  expect((await gateway.post(approvers(list))).status).toBe(200);
  expect(JSON.parse(service.received[0]?.body ?? '')).toHaveLength(count);
});
