import { once } from 'node:events';
import { createServer } from 'node:http';
import { createGatewayRuntime } from '@graphql-hive/gateway';
import { expect, test } from '@jest/globals';
import { gatewayConfig } from '../../examples/federation/hive-gateway.config.ts';
import { closeAfterTest, portOf } from '../helper.ts';
import { operation } from '../operations.ts';
import { ask, startStack, whenCalm } from './stack.ts';
import { testSupergraph } from './supergraph.ts';

/** Hive Gateway as the snippet for platform teams configures it. */
async function start(supergraph: string): Promise<string> {
  const runtime = createGatewayRuntime({ ...gatewayConfig, supergraph });
  const server = createServer(runtime);
  closeAfterTest(async () => {
    server.closeAllConnections();
    server.close();
    await runtime[Symbol.asyncDispose]();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${portOf(server.address())}/graphql`;
}

testSupergraph(start);

test('a CSV as large as our own limit allows goes through', async () => {
  const stack = await startStack();
  const url = await start(stack.supergraphSdl);
  await whenCalm(stack.gatewayUrl);

  const { data, errors } = await ask(url, await stack.token(), operation('UploadWorkflowCsv'), {
    input: {
      fileName: 'a.csv',
      contentBase64: Buffer.alloc(12_000_000, 'a,b\n').toString('base64'),
    },
  });

  expect(errors).toBeUndefined();
  expect(data).toEqual({
    uploadWorkflowCsv: { __typename: 'WorkflowCsvUploaded', unresolved: '' },
  });
});
