import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { startGatewayProcess } from '../../support/gateway-process.ts';
import { read } from '../../support/graphql-operation.ts';
import { json, startService } from '../../support/service.ts';

/** Starts a gateway with these options of Node, and returns a function that posts a query. */
async function startWithOptions(service: { url: string }, nodeOptions: string[]) {
  const variables = { UPSTREAM_TIMEOUT_MS: '60000' };
  const gateway = await startGatewayProcess(service, variables, nodeOptions);
  const headers = { authorization: `Bearer ${gateway.token}` };
  return (query: string) => gateway.post({ query }, headers);
}

const startWithHeap = (service: { url: string }, megabytes: number) =>
  startWithOptions(service, [`--max-old-space-size=${megabytes}`]);

test('a response in chunks of one byte takes little more memory than its bytes', async () => {
  const service = await startService(async ({ socket }) => {
    if (!socket) return;
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    if (!socket.write('1\r\n \r\n'.repeat(1_500_000))) await once(socket, 'drain');
    socket.write('2\r\n{}\r\n0\r\n\r\n');
  });
  const post = await startWithHeap(service, 96);
  const { text } = await post(read);
  expect(text).toContain('LedgerUnrecognizedStatus');
});

test('a response of millions of empty records is rejected before it is parsed', async () => {
  const list = `[${'{},'.repeat(5_000_000)}{}]`;
  const service = await startService(json(`{"service_status":{"status":0},"list":${list}}`));
  const post = await startWithHeap(service, 256);
  const { text } = await post(read);
  expect(text).toContain('UPSTREAM_INVALID_RESPONSE');
});

/** A query for the codes of these projects. */
function codesOf(projects: readonly string[]): string {
  const fields = projects.map(
    (project, index) =>
      `a${index}: glCodes(target: EMAIL, project: "${project}") { ... on GlCodeList { codes { code } } }`,
  );
  return `{ ${fields.join(' ')} }`;
}

test('a list for which there is no memory is rejected, and other requests are served', async () => {
  const list = Array.from({ length: 60_000 }, () => ({ Code: 'C', Name: 'x'.repeat(60) }));
  const service = await startService(json({ service_status: { status: 0 }, list }));
  // As in a container with 100 MB.
  const preload = 'data:text/javascript,process.constrainedMemory = () => 100_000_000';
  const post = await startWithOptions(service, ['--import', preload]);
  const { status, text } = await post(codesOf(['p']));
  expect([status, text]).toEqual([200, expect.stringContaining('"OVERLOADED"')]);
  expect((await post('{ __typename }')).status).toBe(200);
});
