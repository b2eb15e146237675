import type { FastifyReply } from 'fastify';
import { z } from 'zod';

/** The scenarios. The claim `scenario` of a token selects one, or a project named `scenario:<name>`. */
const descriptions = {
  failed: 'Refused with status 1 (FAILED). Nothing is performed.',
  'no-more-invoices': 'Responds with status 2 (NO_MORE_INVOICES). Nothing is performed.',
  'not-permitted': 'Refused with status 3 (NOT_PERMITTED). Nothing is performed.',
  unrecognized: 'Responds with status 7, which is not documented. Nothing is performed.',
  'http-400': 'HTTP 400 without a body. Nothing is performed.',
  'http-401': 'HTTP 401 although the token is valid. Nothing is performed.',
  'http-403': 'HTTP 403 without a body. Nothing is performed.',
  'http-500': 'HTTP 500 without a body. Nothing is performed.',
  'http-503': 'HTTP 503 without a body. Nothing is performed.',
  slow: 'The operation is performed at once, and the response comes late.',
  reset: 'The operation is performed, and the connection is reset before the response.',
  'cut-off': 'The operation is performed, and the connection closes in the middle of the response.',
  'not-json': 'The operation is performed, and the response is 200 without JSON.',
};

export type ScenarioName = keyof typeof descriptions;

const names = Object.keys(descriptions) as ScenarioName[];
export const scenarios = names.map((name) => ({ name, description: descriptions[name] }));

/** Parses the name of a scenario. */
export const scenarioName = z.enum(names);

const JSON_TYPE = 'application/json';

/** A valid request that is ready to be performed or refused. */
type Exchange = {
  readonly reply: FastifyReply;
  readonly slowMs: number;
  /** Performs the operation and returns the body of the response. */
  perform(): string;
  /** The body of a response with this status record, without performing the operation. */
  refuse(record: object): string;
};

/** Responds as a scenario requires, or with a success if there is none. */
export function respond(scenario: ScenarioName | undefined, exchange: Exchange): void {
  if (scenario) behaviours[scenario](exchange);
  else send(exchange, exchange.perform());
}

const behaviours: Readonly<Record<ScenarioName, (exchange: Exchange) => void>> = {
  failed: respondWithStatus(1, 'The operation could not be completed.'),
  'no-more-invoices': respondWithStatus(2, 'There are no more invoices.'),
  'not-permitted': respondWithStatus(3, 'You may not do this.'),
  unrecognized: respondWithStatus(7, 'A status that is not documented.'),
  'http-400': respondWithHttp(400),
  'http-401': respondWithHttp(401),
  'http-403': respondWithHttp(403),
  'http-500': respondWithHttp(500),
  'http-503': respondWithHttp(503),
  slow(exchange) {
    const body = exchange.perform();
    const timer = setTimeout(() => send(exchange, body), exchange.slowMs);
    // The connection closes when the client disconnects, and when the service stops.
    exchange.reply.raw.once('close', () => clearTimeout(timer));
  },
  reset({ reply, perform }) {
    perform();
    reply.hijack();
    reply.request.raw.socket.resetAndDestroy();
  },
  'cut-off'({ reply, perform }) {
    const body = Buffer.from(perform());
    const half = body.subarray(0, body.length / 2);
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': body.length });
    reply.raw.write(half, () => reply.raw.destroy());
  },
  'not-json'({ reply, perform }) {
    perform();
    reply.type('text/plain').send('The service is being restarted. Please come back later.');
  },
};

function respondWithStatus(status: number, message: string) {
  return (exchange: Exchange) =>
    send(exchange, exchange.refuse({ invoice_id: 0, message, status }));
}

function respondWithHttp(code: number) {
  return ({ reply }: Exchange) => {
    reply.code(code).send();
  };
}

function send({ reply }: Exchange, body: string): void {
  reply.type(JSON_TYPE).send(body);
}
