import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SHORT_WORK, type Turn, type Turns } from '../account/turns.ts';
import { InvalidRequest, limitExceeded, overloaded } from '../errors/gateway-error.ts';
import { JsonLimitExceeded, parseInSteps, parseJson } from '../lib/json.ts';
import { joinParts, PART_BYTES, TinyParts } from '../lib/tiny-parts.ts';

/** The largest request body, in bytes: a CSV of 12 MB as base64. */
export const BODY_LIMIT = 16_777_216;
/** The memory for a body, in multiples of its bytes: they exist as bytes, as text and as values. */
const MEMORY_PER_BYTE = 4;
/** The work of receiving a part, in bytes of text to parse: microseconds. */
const PART_WORK = 600;
/** A body takes a turn after so many parts. Those of an ordinary upload have up to 64 KB each. */
const TURN_PARTS = 100;
/** A shorter body, in bytes, is parsed at once: it takes less than 0.1 ms. */
const SHORT_BODY = 4096;

const jsonLimits = {
  /**
   * Values at all levels of a request body: 5,000 entity references with four fields each fit. Parsing and
   * checking more would block the event loop for too long.
   */
  values: 40_000,
  /** Lists and objects among them. graphql-js looks for every field of its type in an object, even in an empty one. */
  composites: 6_000,
  /** Levels of lists and objects in a request body, as in documents. */
  nesting: 50,
};

const limitNames = {
  values: 'values in its variables',
  composites: 'lists and objects in its variables',
  nesting: 'levels of nesting',
};

/** Rejects invalid UTF-8, which would otherwise be sent to the service as other characters. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Registers the parser for JSON, the only content type. */
export function registerBodyParser(app: FastifyInstance, turns: Turns): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const turn = (bytes: number) =>
      turns.take(request.accountKey, bytes, { since: request.receivedAt });
    const { body, work } = await readBody(request, turn);
    request.bodyBytes = body.length;
    // Exactly, because a variable of type ID may be written as a number.
    if (body.length < SHORT_BODY && work < TURN_PARTS * PART_WORK) {
      return parsing(() => parseJson(utf8.decode(body), jsonLimits));
    }
    // The request holds its body until it is parsed, although its client may have disconnected.
    request.processing = parseLong(body, work, turn);
    return request.processing;
  });
}

/** Parses a body in steps. Each is a task of its own, and so is the execution. */
async function parseLong(body: Buffer, receptionWork: number, turn: Turn): Promise<unknown> {
  await turn(body.length + receptionWork);
  const text = parsing(() => utf8.decode(body));
  const steps = parseInSteps(text, jsonLimits);
  for (;;) {
    await turn(SHORT_WORK);
    const { done, value } = parsing(() => steps.next());
    if (done) return value;
  }
}

/** A body, and the work of receiving its parts since the last turn. */
type Received = { body: Buffer; work: number };

/** Reads a body, and books each part for the caller when it arrives. Many small parts take turns. */
function readBody(request: FastifyRequest, turn: Turn): Promise<Received> {
  const { raw, holding } = request;
  const parts: Buffer[] = [];
  const tiny = new TinyParts();
  let bytes = 0;
  let turnedAt = 0;
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      raw.off('data', onPart).off('end', onEnd).pause();
      reject(error);
    };
    const work = () => (parts.length - turnedAt) * PART_WORK;
    const onMany = () => {
      if (raw.complete) return;
      pauseUntil(turn(work()), raw);
      turnedAt = parts.length;
    };
    const onEnd = () => resolve({ body: joinParts(parts), work: work() });
    const onPart = (part: Buffer) => {
      bytes += part.length;
      parts.push(part);
      if (parts.length === turnedAt + TURN_PARTS) setImmediate(onMany);
      if (bytes > BODY_LIMIT) fail(new InvalidRequest(413));
      else if (tiny.isTooMany(part.length)) fail(new InvalidRequest(400));
      else if (holding?.tryHold(part.length * MEMORY_PER_BYTE + PART_BYTES) === false) {
        fail(overloaded('The gateway is processing too many large requests.'));
      }
    };
    if (raw.destroyed) fail(new InvalidRequest(400)); // It will never end.
    raw.on('data', onPart);
    raw.once('end', onEnd);
    raw.once('error', () => reject(new InvalidRequest(400)));
  });
}

/** Reads no more of a connection until then. Pausing the body instead would let Node parse the next 64 KB. */
function pauseUntil(turn: ReturnType<Turn>, { socket }: IncomingMessage): void {
  if (!turn) return;
  socket.pause();
  void turn.then(() => socket.resume());
}

/** Throws `OPERATION_LIMIT_EXCEEDED` if a body exceeds a limit, and a bad request if it is not JSON. */
function parsing<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof JsonLimitExceeded)) throw new InvalidRequest(400);
    throw limitExceeded(limitNames[error.limit], jsonLimits[error.limit]);
  }
}
