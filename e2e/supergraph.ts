import { expect, test } from '@jest/globals';
import { type ScenarioName, scenarios } from '../dev/service.ts';
import { operation } from '../testkit/example-operation.ts';
import { startTestGateway } from '../testkit/gateway.ts';
import { startHttpServer } from '../testkit/http-server.ts';
import { json, startService } from '../testkit/service.ts';
import { type GraphqlResponse, type Reference, send, startStack, supergraphOf } from './stack.ts';

/** Starts a gateway for a supergraph on a free port, and returns the URL of its GraphQL endpoint. */
export type StartSupergraph = (supergraphSdl: string) => Promise<string>;

const tripsQuery = `{
  trips {
    id
    status
    outcome { __typename ... on NotPermitted { reason } }
    glCode { target project code name value hide }
  }
}`;

const north = { target: 'EMAIL', project: 'north-plant' };

/** The outcome of a read in each scenario: a union member, or the code of an error. */
const reads: Record<ScenarioName | 'ok', string> = {
  ok: 'GlCodeList',
  failed: 'LedgerFailed',
  'no-more-invoices': 'LedgerNoMoreInvoices',
  'not-permitted': 'LedgerNotPermitted',
  unrecognized: 'LedgerUnrecognizedStatus',
  'http-400': 'UPSTREAM_BAD_REQUEST',
  'http-401': 'UNAUTHENTICATED',
  'http-403': 'FORBIDDEN',
  'http-500': 'UPSTREAM_FAILED',
  'http-503': 'UPSTREAM_FAILED',
  slow: 'UPSTREAM_TIMEOUT',
  reset: 'UPSTREAM_UNAVAILABLE',
  'cut-off': 'UPSTREAM_INVALID_RESPONSE',
  'not-json': 'UPSTREAM_INVALID_RESPONSE',
};

const unknown = 'LedgerOutcomeUnknown';
const lost = {
  'http-500': unknown,
  'http-503': unknown,
  reset: unknown,
  'cut-off': unknown,
  'not-json': unknown,
};

const expected: Record<string, Record<string, string>> = {
  GlCodes: reads,
  SaveApprovers: { ...reads, ...lost, ok: 'ApproversSaved' },
  UploadWorkflowCsv: { ...reads, ...lost, ok: 'WorkflowCsvUploaded' },
  WorkflowAction: { ...reads, ...lost, ok: 'WorkflowActionCompleted' },
};

/** Every document in every scenario, except the one that waits for the deadline. */
const cases = Object.keys(expected).flatMap((document) =>
  (['ok', ...scenarios.map(({ name }) => name)] as const)
    .filter((scenario) => scenario !== 'slow')
    .map((scenario) => ({ document, scenario })),
);

/**
 * The part of a response that is the same directly and through another gateway. Request ids differ, and so
 * do the locations in the document.
 */
function comparable({ data, errors }: GraphqlResponse) {
  const withoutIds = JSON.stringify(data, (key, value) =>
    key === 'requestId' ? typeof value : value,
  );
  return {
    data: withoutIds === undefined ? undefined : JSON.parse(withoutIds),
    errors: errors?.map(({ message, path, extensions: { code, retryable, requestId } }) => ({
      message,
      path,
      code,
      retryable,
      requestId: typeof requestId,
    })),
  };
}

/** Saves an approver with this id through a supergraph. `sent` are the bodies that the service received. */
export const saveApprover = (startSupergraph: StartSupergraph, approverId: unknown) =>
  saveApproverThrough((ledger) => startSupergraph(supergraphOf({ ledger })), approverId);

/** The same through a server that is started for the address of the gateway. */
export async function saveApproverThrough(
  startServer: (gatewayUrl: string) => Promise<string>,
  approverId: unknown,
) {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);
  const url = await startServer(`${gateway.url}/graphql`);
  const approvers = [{ approverId }];
  const { errors } = await send(url, gateway.token, operation('SaveApprovers'), { approvers });
  return { errors, sent: service.received.map(({ body }) => body) };
}

/** Defines the tests that every gateway must pass. */
export function testSupergraph(startSupergraph: StartSupergraph): void {
  test('a query from trips to GL codes makes one request to the service', async () => {
    const references: Reference[] = [
      ...Array.from({ length: 40 }, (_, index) => ({
        ...north,
        code: index % 2 ? '4010' : '4020',
      })),
      { ...north, code: '9999' },
      { ...north, code: 'no such code' },
    ];
    const stack = await startStack(references);
    const url = await startSupergraph(stack.supergraphSdl);
    const token = await stack.token();

    const { data, errors } = await send(url, token, tripsQuery);

    expect(errors).toBeUndefined();
    expect(stack.calls).toEqual([
      {
        url: '/getGLCodes5?target=5&project=north-plant&includeHide=true',
        authorization: `Bearer ${token}`,
      },
    ]);
    expect(stack.trips.requests).toEqual([{ authorization: `Bearer ${token}` }]);
    const packaging = { ...north, code: '4020', name: 'Packaging', value: 'NP-4020', hide: 0 };
    const hidden = { ...north, code: '9999', name: 'Suspense account', value: 'NP-9999', hide: 1 };
    const trip = {
      status: 'OPEN',
      outcome: { __typename: 'NotPermitted', reason: 'over the limit' },
    };
    expect(data?.trips).toHaveLength(42);
    expect(data?.trips).toEqual(
      expect.arrayContaining([
        { id: '0', ...trip, glCode: packaging },
        { id: '40', ...trip, glCode: hidden },
      ]),
    );
    // The key fields of an unknown code come from the trip.
    expect(data?.trips).toContainEqual(
      expect.objectContaining({
        id: '41',
        glCode: expect.objectContaining({ code: 'no such code', name: null, value: null }),
      }),
    );
  });

  test('references to several lists make one request for each list', async () => {
    const harbour = { target: 'STORAGE_DEVICE', project: 'harbour-office', code: '6010' };
    const stack = await startStack([{ ...north, code: '4010' }, harbour, harbour]);
    const url = await startSupergraph(stack.supergraphSdl);

    const { data, errors } = await send(url, await stack.token(), tripsQuery);

    expect(errors).toBeUndefined();
    expect(data?.trips).toHaveLength(3);
    expect(stack.calls.map((call) => call.url).sort()).toEqual([
      '/getGLCodes5?target=4001&project=harbour-office&includeHide=true',
      '/getGLCodes5?target=5&project=north-plant&includeHide=true',
    ]);
  });

  test('a subgraph without the enum refers to GL codes by their ids', async () => {
    const id = '5/north-plant/4020';
    const stack = await startStack([], [id, '5/north-plant/9999', '5/north-plant/none', 'x', null]);
    const url = await startSupergraph(stack.supergraphSdl);

    const query = '{ budgets { id glCode { id name code hide } } }';
    const { data, errors } = await send(url, await stack.token(), query);

    expect(stack.calls.map((call) => call.url)).toEqual([
      '/getGLCodes5?target=5&project=north-plant&includeHide=true',
    ]);
    expect(data?.budgets).toHaveLength(5);
    expect(data?.budgets).toEqual(
      expect.arrayContaining([
        { id: '0', glCode: { id, name: 'Packaging', code: '4020', hide: 0 } },
        expect.objectContaining({ id: '1', glCode: expect.objectContaining({ code: '9999' }) }),
      ]),
    );
    // A gateway reports an invalid id once, or once for each of its fields.
    expect(errors?.length).toBeGreaterThan(0);
    for (const { extensions } of errors ?? []) expect(extensions.code).toBe('BAD_USER_INPUT');
  });

  test('a reference that cannot be resolved is an error with our code, and the trips remain', async () => {
    const stack = await startStack([{ ...north, project: 'scenario:http-403', code: '4010' }]);
    const url = await startSupergraph(stack.supergraphSdl);

    const { data, errors } = await send(url, await stack.token(), tripsQuery);

    expect(data?.trips).toEqual([expect.objectContaining({ id: '0', status: 'OPEN' })]);
    // A gateway reports the error once for the entity, or once for each of its fields.
    expect(errors?.length).toBeGreaterThan(0);
    for (const { message, extensions } of errors ?? []) {
      expect(message).toBe('The service does not permit this operation.');
      expect(extensions).toMatchObject({ code: 'FORBIDDEN', retryable: false });
    }
  });

  test('every document has the same outcome directly and through the supergraph, in every scenario', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const plainToken = await stack.token();

    for (const { document, scenario } of cases) {
      // A success before each failure keeps the circuit closed.
      await send(stack.gatewayUrl, plainToken, operation('GlCodes'));
      const token = await stack.token(scenario === 'ok' ? {} : { scenario });
      const query = operation(document);
      const direct = await send(stack.gatewayUrl, token, query);
      const before = stack.calls.length;
      const composed = await send(url, token, query);

      const name = `${document}, ${scenario}`;
      expect([name, comparable(composed)]).toEqual([name, comparable(direct)]);
      const [member] = Object.values(direct.data ?? {});
      const typename =
        typeof member === 'object' && member !== null && '__typename' in member
          ? member.__typename
          : direct.errors?.[0]?.extensions.code;
      expect([name, typename]).toEqual([name, expected[document]?.[scenario]]);
      const made = stack.calls.slice(before);
      expect(made.every(({ authorization }) => authorization === `Bearer ${token}`)).toBe(true);
      // A write reaches the service once.
      if (document !== 'GlCodes') expect([name, made.length]).toEqual([name, 1]);
    }
  });

  test('every fault of the input, and the trace of the client, pass through', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const token = await stack.token();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

    const approvers = [{ approverId: 'one' }, { name: 'Ada', workflowId: 'two' }];
    const { errors } = await send(url, token, operation('SaveApprovers'), { approvers });
    expect(errors?.map(({ extensions }) => extensions)).toEqual([
      expect.objectContaining({
        code: 'BAD_USER_INPUT',
        retryable: false,
        requestId: expect.any(String),
        faults: [
          { path: ['approvers', 0, 'approverId'], message: expect.any(String) },
          { path: ['approvers', 1, 'workflowId'], message: expect.any(String) },
        ],
      }),
    ]);
    expect(stack.calls).toEqual([]);

    await send(url, token, operation('GlCodes'), undefined, { traceparent });
    expect(stack.calls).toEqual([expect.objectContaining({ traceparent })]);
  });

  test('a large identifier arrives exactly as a text', async () => {
    const { sent } = await saveApprover(startSupergraph, '9007199254740993');
    expect(sent).toEqual(['[{"approver_id":9007199254740993}]']);
  });

  test('a request without a token is rejected directly and through the supergraph', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);

    for (const to of [stack.gatewayUrl, url]) {
      const { data, errors } = await send(to, undefined, operation('GlCodes'));
      expect(data?.glCodes ?? null).toBeNull();
      expect(errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
    }
    expect(stack.calls).toEqual([]);
  });

  test('an error of a response that is not 200 keeps its code and request id', async () => {
    const service = await startService(json({ status: 0 }));
    const { origin } = await startHttpServer((_, response) => response.writeHead(503).end());
    const gateway = await startTestGateway(service, { JWT_JWKS_URL: `${origin}/jwks` });
    const url = await startSupergraph(supergraphOf({ ledger: `${gateway.url}/graphql` }));

    const { data, errors } = await send(url, gateway.token, operation('WorkflowAction'));

    expect(data?.workflowAction ?? null).toBeNull();
    expect(errors?.map(({ extensions }) => extensions)).toEqual([
      expect.objectContaining({
        code: 'AUTH_UNAVAILABLE',
        retryable: true,
        requestId: expect.any(String),
      }),
    ]);
    expect(service.received).toEqual([]);
  });
}
