import { EventEmitter, once } from 'node:events';
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { LedgerFetchOptions } from '../packages/client/src/index.ts';
import { PROBE } from '../packages/client/src/known-intent.ts';
import { agedStore } from './aged-store.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { startHttpServer } from './http-server.ts';
import { json, startService } from './service.ts';

/** A response in the place of the gateway's. */
type CannedResponse = {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
  /** Whether the gateway serves the request. */
  readonly isServed?: boolean;
};

/** What can happen to a request between a client and the gateway. */
type Fault =
  | 'none'
  | CannedResponse
  /** The gateway serves it, and its response is lost. */
  | 'cut'
  /** It does not arrive, and nothing responds. */
  | 'stall'
  /** The gateway serves it, and nothing responds. */
  | 'hang'
  /** The gateway serves it, gets `kill -9` before it responds, and starts again. */
  | 'crash';

export type FaultCase = {
  readonly name: string;
  /** The fault of each request, as long as there is one. */
  readonly faults: readonly Fault[];
  /** What `readField` says of `workflowAction(action: RESTART)`. */
  readonly result: unknown;
  readonly arrivals: number;
};

const graphqlType = { 'content-type': 'application/json' };
const busy: CannedResponse = {
  status: 503,
  headers: { 'retry-after': '1', ...graphqlType },
  body: '{"errors":[{"message":"","extensions":{"code":"OVERLOADED","requestId":"7","retryable":true}}]}',
};
const tooLarge = { status: 413, body: '<h1>413 Request Entity Too Large</h1>' };
const inProgress: CannedResponse = {
  status: 200,
  headers: { 'idempotent-in-progress': 'true', ...graphqlType },
  body: '{"data":{"workflowAction":{"__typename":"LedgerOutcomeUnknown"}}}',
};

const restarted = { kind: 'member', member: { __typename: 'WorkflowActionCompleted' } };
const failed = (code: string) => ({ kind: 'error', error: { code } });

/** What each client has to survive, with at most one arrival at the service, and a result that is true. */
export const faultCases: readonly FaultCase[] = [
  { name: 'no fault', faults: [], result: restarted, arrivals: 1 },
  { name: '6 cuts', faults: Array(6).fill('cut'), result: restarted, arrivals: 1 },
  { name: 'a stall', faults: ['stall'], result: restarted, arrivals: 1 },
  { name: 'a 503', faults: [busy], result: restarted, arrivals: 1 },
  {
    name: 'an outcome in progress',
    faults: ['cut', inProgress],
    result: restarted,
    arrivals: 1,
  },
  { name: 'a 413 of a proxy', faults: [tooLarge], result: failed('HTTP_413'), arrivals: 0 },
  { name: 'a 413 after a cut', faults: ['cut', tooLarge], result: restarted, arrivals: 1 },
  {
    name: 'a crash of a gateway with the memory store',
    faults: ['crash'],
    result: { kind: 'member', member: { __typename: 'LedgerOutcomeUnknown', code: 'ORPHANED' } },
    arrivals: 1,
  },
];

/** The options with which a client repeats soon, and sends the same write of the next test. */
export const impatient: LedgerFetchOptions = {
  delayMs: 5,
  patienceMs: 40_000,
  doubleClickMs: 0,
};

/** Ends an attempt soon only where nothing responds: a busy machine may take longer for a response. */
const optionsFor = (faults: readonly Fault[]): LedgerFetchOptions =>
  faults.includes('stall') || faults.includes('hang')
    ? { ...impatient, attemptMs: 300 }
    : impatient;

/** Starts a service, a gateway of its own process that has run for long enough, and a server in front of it that causes faults. */
export async function startFaultStack(variables: Record<string, string> = {}) {
  const events = new EventEmitter();
  const service = await startService((response, received) => {
    events.emit('arrival');
    return json({ status: 0 })(response, received);
  });
  const aged = { IDEMPOTENCY_STORE: await agedStore() };
  let gateway = await startGatewayProcess(service, { ...aged, ...variables });
  let faults: Fault[] = [];
  let options = impatient;
  /** What was posted. `closed` resolves when the client has the response, or no longer waits for it. */
  const requests: { key: string | string[] | undefined; closed: Promise<unknown> }[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, headers } = request;
    const body = await buffer(request);
    let fault: Fault | undefined;
    // The first write of a page is preceded by the question whether keys arrive.
    if (method === 'POST' && !body.includes(PROBE)) {
      fault = faults.shift();
      const key = headers['idempotency-key'];
      requests.push({ key, closed: once(response, 'close') });
      events.emit('request');
    }
    if (typeof fault === 'object' && !fault.isServed) respond(request, response, fault);
    else if (fault !== 'stall') pass(request, body, response, fault);
  }

  function respond(
    { headers: { origin = '*' } }: IncomingMessage,
    response: ServerResponse,
    { status, headers, body }: CannedResponse,
  ): void {
    const cors = {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'retry-after, idempotent-in-progress',
    };
    response.writeHead(status, { 'content-type': 'text/html', ...cors, ...headers }).end(body);
  }

  function pass(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    fault: Fault | undefined,
  ): void {
    const { method, url = '/', headers } = request;
    const onward = forward(new URL(url, gateway.url), { method, headers, agent: false });
    const cut = () => {
      const { socket } = response;
      // Node cannot reset a connection while it ends it, and would keep the process running.
      if (socket?.writableEnded) socket.destroy();
      else socket?.resetAndDestroy();
    };
    onward.once('error', cut).end(body);
    onward.once('response', async (received) => {
      if (fault === undefined || fault === 'none') {
        response.writeHead(received.statusCode ?? 502, received.headers);
        received.pipe(response);
        return;
      }
      received.resume();
      if (fault === 'hang') return;
      if (typeof fault === 'object') return respond(request, response, fault);
      if (fault === 'crash') {
        gateway.signal('SIGKILL');
        await gateway.exited;
        cut();
        gateway = await startGatewayProcess(service, variables); // With the `memory` store.
      }
      cut();
    });
  }

  const front = await startHttpServer((request, response) => void serve(request, response));
  return {
    url: `${front.origin}/graphql`,
    token: gateway.token,
    /** Causes the faults of a case from the next request on. */
    prepare(next: readonly Fault[]) {
      faults = [...next];
      options = optionsFor(next);
      requests.length = 0;
      service.received.length = 0;
    },
    /** Those with which a client survives the faults soon. */
    get options() {
      return options;
    },
    requests,
    /** Waits for the first request. */
    async requested() {
      if (requests.length === 0) await once(events, 'request');
    },
    /** The number of requests that arrived at the service. */
    arrivals: () => service.received.length,
    /** Waits for the first of these. */
    async arrived() {
      if (service.received.length === 0) await once(events, 'arrival');
    },
  };
}
