import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startTestGateway } from '../../testkit/gateway.ts';
import { read, write, writes } from '../../testkit/graphql-operation.ts';
import { json, type Reply, startService } from '../../testkit/service.ts';

const short = `${'x'.repeat(10_000)}…`;
const textOf = (bytes: number) => 'x'.repeat(bytes);
const [MIB_1, MIB_9, MIB_70] = [1_048_576, 9 * 1_048_576, 70 * 1_048_576];

const inGzip =
  (body: object): Reply =>
  (response) =>
    void response.setHeader('content-encoding', 'gzip').end(gzipSync(JSON.stringify(body)));
/** Without a declared length. */
const chunked =
  (body: object): Reply =>
  (response) => {
    response.write(JSON.stringify(body));
    response.end();
  };

test.each([
  ['with a length', json],
  ['in chunks', chunked],
  ['compressed', inGzip],
])(
  'the response to an upload is read, though it has a text of 9 MiB (%s)',
  async (_, replyWith) => {
    const service = await startService(replyWith({ unresolved: textOf(MIB_9) }));
    const gateway = await startTestGateway(service);
    const { data } = await gateway.graphql(`mutation { result: ${writes.updateWorkflowCSV} }`);
    expect(data.result).toMatchObject({ __typename: 'WorkflowCsvUploaded', unresolved: short });
    service.respondWith(replyWith({ unresolved: textOf(MIB_9), message: 'Bad row.', status: 1 }));
    const failed = await gateway.graphql(`mutation { result: ${writes.updateWorkflowCSV} }`);
    expect(failed.data.result).toMatchObject({ __typename: 'LedgerFailed', message: 'Bad row.' });
  },
);

test('the texts of a response to a write are cut if it has more than 1 MiB', async () => {
  const service = await startService();
  const gateway = await startTestGateway(service);
  const around = JSON.stringify({ message: '', status: 0 }).length;
  for (const [bytes, message] of [
    [MIB_1 - around, textOf(MIB_1 - around)],
    [MIB_1 - around + 1, short],
  ] as const) {
    service.respondWith(json({ message: textOf(bytes), status: 0 }));
    const { data } = await gateway.graphql(`mutation { result: ${writes.upgradeToHQ} }`);
    expect(data.result.message === message).toBe(true); // Not `toBe`, which would print a megabyte.
  }
});

const longerThan = (bytes: number) =>
  `The response of the service is longer than ${bytes} bytes, which is more than this gateway reads (UPSTREAM_MAX_RESPONSE_BYTES).`;

test.each([
  ['a list', { status: 0, list: Array(5_000_000).fill(1) }, 8_388_608],
  ['a text of 70 MiB', { message: textOf(MIB_70), status: 0 }, 67_108_864],
])(
  'the outcome of a write with %s that is too long is unknown, and says why, also to a repeat',
  async (_, body, limit) => {
    const service = await startService(json(body));
    const gateway = await startTestGateway(service);
    const key = { 'idempotency-key': 'k1' };
    for (let n = 0; n < 2; n += 1) {
      const { data } = await gateway.graphql(write, {}, key);
      expect(data.result).toMatchObject({
        code: 'UPSTREAM_INVALID_RESPONSE',
        message: `${longerThan(limit)} The operation may or may not have taken effect. The gateway did not repeat it.`,
      });
    }
    expect(service.received).toHaveLength(1);
  },
);

test('the error for a list that is too long says so, with the setting that changes it', async () => {
  const list = Array(200_000).fill({ Code: '1', Name: 'x'.repeat(20), Value: '', Hide: 0 });
  const service = await startService(json({ service_status: { status: 0 }, list }));
  const gateway = await startTestGateway(service);
  const { errors } = await gateway.graphql(read);
  expect(errors).toMatchObject([
    {
      message: longerThan(8_388_608),
      extensions: { code: 'UPSTREAM_INVALID_RESPONSE', retryable: false },
    },
  ]);
});
