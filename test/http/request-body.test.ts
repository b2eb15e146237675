import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { json, startService } from '../support/service.ts';

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
