import { createGatewayRuntime, type GatewayConfigSupergraph } from '@graphql-hive/gateway-runtime';
import { unifiedGraphHandler } from '@graphql-hive/router-runtime';
import transportHttp from '@graphql-mesh/transport-http';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { addDirectives } from '../examples/federation/add-directives.ts';
import { gatewayConfig } from '../examples/federation/hive-gateway.config.ts';
import { exampleDirectives, ledgerSdl } from '../test/federation/composition.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { operation } from '../testkit/example-operation.ts';
import { startHttpServer } from '../testkit/http-server.ts';
import { testEarlierSupergraph } from './earlier-supergraph.ts';
import { testGatewayRestart } from './gateway-restart.ts';
import { testIdempotencyKeys, testReplayHeader } from './idempotency-keys.ts';
import { testLostKeys } from './lost-keys.ts';
import { send, startStack, supergraphOf } from './stack.ts';
import { saveApprover, testSupergraph } from './supergraph.ts';

/** Starts Hive Gateway with the configuration that the docs give to platform teams. */
async function startHiveGateway(supergraph: string, more: Partial<GatewayConfigSupergraph>) {
  const runtime = createGatewayRuntime({
    ...(gatewayConfig satisfies GatewayConfigSupergraph),
    ...more,
    // Longer, because a busy machine must not cause a timeout.
    upstreamTimeout: 60_000,
    transports: { http: transportHttp },
    supergraph,
  });
  closeAfterTest(() => runtime[Symbol.asyncDispose]());
  const { origin } = await startHttpServer(runtime);
  return `${origin}/graphql`;
}

const forwardToken = ({ request }: { request: Request }) => ({
  authorization: request.headers.get('authorization'),
});

/** Checks the directives of the graph with the claims of the token. The gateway verifies the token. */
const genericAuth = {
  mode: 'protect-granular' as const,
  resolveUserFn: ({ request }: { request?: Request }) => {
    const token = request?.headers.get('authorization')?.replace('Bearer ', '');
    return token === undefined ? null : decodeJwt(token);
  },
};

/** What the command line of Hive Gateway sets without and with `--hive-router-runtime`. */
const runtimes: [option: string, Partial<GatewayConfigSupergraph>][] = [
  ['without an option', {}],
  ['with --hive-router-runtime', { unifiedGraphHandler }],
];

describe.each(runtimes)('Hive Gateway %s', (_, runtime) => {
  const start = (supergraph: string, more: Partial<GatewayConfigSupergraph> = {}) =>
    startHiveGateway(supergraph, { ...runtime, ...more });

  testSupergraph(start);
  testIdempotencyKeys(start);
  testReplayHeader(start);

  testLostKeys(start, (supergraph) =>
    start(supergraph, { propagateHeaders: { fromClientToSubgraphs: forwardToken } }),
  );
  testGatewayRestart(start);
  testEarlierSupergraph(start);

  test('a CSV file close to our body limit is accepted', async () => {
    const stack = await startStack();
    const url = await start(stack.supergraphSdl);

    const { data, errors } = await send(url, await stack.token(), operation('UploadWorkflowCsv'), {
      input: {
        fileName: 'a.csv',
        contentBase64: Buffer.alloc(12_000_000, 'a,b\n').toString('base64'),
      },
    });

    expect(errors).toBeUndefined();
    expect(data).toEqual({
      uploadWorkflowCsv: {
        __typename: 'WorkflowCsvUploaded',
        unresolved: '',
        invoiceId: null,
        message: null,
      },
    });
  });

  test('an identifier that Hive Gateway has rounded as a number is rejected, and as a text it arrives exactly', async () => {
    const id = '9007199254740993';
    expect((await saveApprover(start, JSON.rawJSON(id))).sent).toEqual([]);
    expect((await saveApprover(start, id)).sent).toEqual([`[{"approver_id":${id}}]`]);
  });

  test('finds scopes in the claim `scope` alone, unless `extractScopes` reads another one', async () => {
    const stack = await startStack();
    const sdl = addDirectives(ledgerSdl, JSON.parse(exampleDirectives));
    const supergraph = supergraphOf({ ledger: stack.gatewayUrl }, sdl);
    const extractScopes = ({ scp }: { scp?: unknown }) => (Array.isArray(scp) ? scp : []);
    const url = await start(supergraph, { genericAuth });
    const reading = await start(supergraph, { genericAuth: { ...genericAuth, extractScopes } });
    const scopes = ['ledger:workflows'];
    const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
    const isDone = async (to: string, claims: Record<string, unknown>) =>
      (await send(to, await stack.token({ claims }), query)).errors === undefined;

    expect(await isDone(url, { scope: scopes.join(' ') })).toBe(true);
    expect(await isDone(url, { scp: scopes })).toBe(false);
    expect(stack.calls).toHaveLength(1);
    expect(await isDone(reading, { scp: scopes })).toBe(true);
  });
});
