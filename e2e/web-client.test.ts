import type { IncomingHttpHeaders } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'graphql';
import { startReferenceService } from '../dev/service.ts';
import { createClient } from '../examples/web/src/client.ts';
import { readField } from '../examples/web/src/field-result.ts';
import { GlCodesDocument, SaveApproversDocument } from '../examples/web/src/gql/graphql.ts';
import { newIntent } from '../examples/web/src/links/idempotency-link.ts';
import type { Session } from '../examples/web/src/session.ts';
import { createUrqlClient } from '../examples/web/urql/urql-client.ts';
import { closeAfterTest } from '../test/support/cleanup.ts';
import { startTestGateway } from '../test/support/gateway.ts';
import { startHttpServer } from '../test/support/http-server.ts';
import { testIssuer } from '../test/support/issuer.ts';
import { startFaultyProxy } from './faulty-proxy.ts';
import { startProxy } from './stack.ts';

/** Starts a gateway behind a proxy that can lose responses. `arrivals` are the requests to the service. */
async function start(variables: Record<string, string> = {}) {
  const issuer = await testIssuer();
  const service = await startReferenceService({ issuerKeys: issuer.jwks });
  closeAfterTest(() => service.close());
  const arrivals: string[] = [];
  const url = await startProxy(service.url, (path) => arrivals.push(path));
  const gateway = await startTestGateway({ url }, variables);
  const proxy = await startFaultyProxy(gateway.url);
  return { arrivals, proxy, gatewayUrl: `${proxy.url}graphql`, token: gateway.token };
}

/** A session that has these tokens, one after the other. */
function sessionWith(...tokens: string[]): Session {
  return {
    token: async () => tokens[0] ?? '',
    async renew() {
      tokens.shift();
      return tokens[0] ?? '';
    },
    scenarios: async () => [],
    simulate() {},
  };
}

const variables = { approvers: [{ name: 'Ada' }] };

describe('Apollo Client', () => {
  test('a rejected token is renewed, and the write keeps its key', async () => {
    const { arrivals, proxy, gatewayUrl, token } = await start();
    const expired = await (await testIssuer()).token({ expiresIn: '-1h' });
    const session = sessionWith(expired, token);
    const client = createClient({ gatewayUrl, session, trustedDocuments: false });
    proxy.lose(2);

    const { data } = await client.mutate({ mutation: SaveApproversDocument, variables });

    expect(data?.saveApprovers?.__typename).toBe('ApproversSaved');
    expect(arrivals).toEqual(['/saveApproverList']);
  });

  test('errors that may be retried are repeated with the same key, after the time that the gateway asks for', async () => {
    const keys: unknown[] = [];
    const { origin } = await startHttpServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      const headers = { 'content-type': 'application/graphql-response+json' };
      const error = { message: '', extensions: { code: 'OVERLOADED', retryable: true } };
      if (keys.length === 1) {
        response.writeHead(503, { ...headers, 'retry-after': '1' });
        response.end(JSON.stringify({ errors: [error] }));
      } else {
        const saveApprovers = { __typename: 'ApproversSaved', message: null };
        response.writeHead(200, headers).end(JSON.stringify({ data: { saveApprovers } }));
      }
    });
    const session = sessionWith('token');
    const client = createClient({ gatewayUrl: origin, session, trustedDocuments: false });

    const { data } = await client.mutate({ mutation: SaveApproversDocument, variables });

    expect(data?.saveApprovers?.__typename).toBe('ApproversSaved');
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{36}$/), keys[0]]);
  });

  test('each field of a mutation has its own result', async () => {
    const { gatewayUrl, token } = await start();
    const client = createClient({
      gatewayUrl,
      session: sessionWith(token),
      trustedDocuments: false,
    });
    const intent = newIntent();

    const result = await client.mutate<Record<'save' | 'restart', unknown>>({
      mutation: parse(`mutation {
        save: saveApprovers(approvers: [{ approverId: "x" }]) { __typename }
        restart: workflowAction(action: RESTART) { __typename }
      }`),
      errorPolicy: 'all',
      context: { intent },
    });

    expect(readField(result, 'restart', intent)).toEqual({
      kind: 'member',
      member: { __typename: 'WorkflowActionCompleted' },
    });
    expect(readField(result, 'save', intent)).toMatchObject({
      kind: 'refused',
      refusal: { code: 'BAD_USER_INPUT', retryable: false },
    });
  });

  test('a gateway with the manifest of the app executes its documents by their hashes', async () => {
    const manifest = new URL('../examples/web/src/gql/persisted-documents.json', import.meta.url);
    const { arrivals, gatewayUrl, token } = await start({
      TRUSTED_DOCUMENTS: fileURLToPath(manifest),
    });
    const session = sessionWith(token);
    const client = createClient({ gatewayUrl, session, trustedDocuments: true });

    const { data } = await client.mutate({ mutation: SaveApproversDocument, variables });
    const { data: codes } = await client.query({
      query: GlCodesDocument,
      variables: { target: 'EMAIL', project: 'north-plant', includeHide: false },
    });

    expect(data?.saveApprovers?.__typename).toBe('ApproversSaved');
    expect(codes?.glCodes?.__typename).toBe('GlCodeList');
    expect(arrivals).toHaveLength(2);
  });
});

describe('urql', () => {
  test('a rejected token is renewed, and the write keeps its key', async () => {
    const { arrivals, gatewayUrl, token } = await start();
    const sent: IncomingHttpHeaders[] = [];
    const url = await startProxy(gatewayUrl, (_, headers) => sent.push(headers));
    const expired = await (await testIssuer()).token({ expiresIn: '-1h' });
    const client = createUrqlClient(`${url}graphql`, sessionWith(expired, token));

    const { data, error } = await client.mutation(SaveApproversDocument, variables).toPromise();

    expect(error).toBeUndefined();
    expect(data?.saveApprovers?.__typename).toBe('ApproversSaved');
    expect(sent.map(({ authorization }) => authorization)).toEqual([
      `Bearer ${expired}`,
      `Bearer ${token}`,
    ]);
    const keys = sent.map((headers) => headers['idempotency-key']);
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{36}$/), keys[0]]);
    expect(arrivals).toEqual(['/saveApproverList']);
  });

  test('a new token that is rejected, too, is not renewed again', async () => {
    const { arrivals, gatewayUrl } = await start();
    const expired = await (await testIssuer()).token({ expiresIn: '-1h' });
    const client = createUrqlClient(gatewayUrl, sessionWith(expired, expired, expired));

    const { error } = await client.mutation(SaveApproversDocument, variables).toPromise();

    expect(error?.graphQLErrors[0]?.extensions.code).toBe('UNAUTHENTICATED');
    expect(arrivals).toEqual([]);
  });

  test('a write whose response is lost is repeated with the same key', async () => {
    const { arrivals, proxy, gatewayUrl, token } = await start();
    const client = createUrqlClient(gatewayUrl, sessionWith(token));
    proxy.lose(2);

    const { data, error } = await client.mutation(SaveApproversDocument, variables).toPromise();

    expect(error).toBeUndefined();
    expect(data?.saveApprovers?.__typename).toBe('ApproversSaved');
    expect(proxy.lost).toHaveLength(2);
    expect(arrivals).toEqual(['/saveApproverList']);
  });

  test('a write that is in progress is asked about again', async () => {
    const keys: unknown[] = [];
    const { origin } = await startHttpServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      const saveApprovers =
        keys.length === 1
          ? { __typename: 'LedgerOutcomeUnknown', code: 'IN_PROGRESS', message: '', requestId: '7' }
          : { __typename: 'ApproversSaved', message: null };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: { saveApprovers } }));
    });
    const client = createUrqlClient(origin, sessionWith('token'));

    const { data } = await client.mutation(SaveApproversDocument, variables).toPromise();

    expect(data?.saveApprovers?.__typename).toBe('ApproversSaved');
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{36}$/), keys[0]]);
  });
});
