import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createIterationLimit, type Gate } from '../admission/gate.ts';
import type { Lane } from '../admission/lane.ts';
import { httpError, limitExceeded, overloaded } from '../errors/gateway-error.ts';
import { JsonLimitExceeded, parseJson, unusualNumber } from '../lib/json.ts';
import { PART_BYTES, TinyParts } from '../lib/tiny-parts.ts';

/** The largest request body, in bytes: a CSV of 12 MiB, which is 16 MiB as base64, and 1 MiB for the rest. */
export const BODY_LIMIT = 17_825_792;

const jsonLimits = {
  /** Values at all levels: 5,000 references with four fields each fit. More would block the event loop for too long. */
  values: 40_000,
  /** Lists and objects among these values. graphql-js looks up every field of an input type, even for an empty object. */
  composites: 6_000,
  /** Levels of lists and objects in a request body, as in documents. */
  nesting: 50,
};

/** Matches a text with more brackets than levels of nesting are allowed. Those in its strings count, too. */
const manyBrackets = new RegExp(`^(?:[^[{]*[[{]){${jsonLimits.nesting + 1}}`);

const limitNames = {
  values: 'values in its variables',
  composites: 'lists and objects in its variables',
  nesting: 'levels of nesting',
};

const tooManyLarge = 'The gateway is processing too many large requests.';

/** Rejects invalid UTF-8, which would otherwise be sent to the service as other characters. Skips a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Registers the parser for JSON, the only content type. */
export function registerBodyParser(app: FastifyInstance, lane: Lane): void {
  const reading = createIterationLimit();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request, raw, done) => {
    readBody(request, raw, reading, (error, body) => {
      if (!body) return done(error);
      const { admissionKey, receivedAt } = request;
      // Parsing a short body takes less than 0.1 ms.
      const turn = body.length < 4096 ? undefined : lane.turn(admissionKey, receivedAt);
      if (!turn) return done(...parse(body));
      // The request keeps its memory until the body is parsed, even if the client disconnects meanwhile.
      request.processing = turn.then(() => done(...parse(body)));
    });
  });
}

/** Reads a body, and reserves memory for each part. The parts of a long body are read when it is the caller's turn. */
function readBody(
  { reservation, admissionKey }: FastifyRequest,
  raw: IncomingMessage,
  reading: Gate,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const parts: Buffer[] = [];
  const tiny = new TinyParts();
  let bytes = 0;
  const end = (error: Error | null, body?: Buffer) => {
    raw.off('data', onPart).off('end', onEnd).off('error', onError);
    done(error, body);
  };
  const fail = (error: Error) => {
    raw.pause();
    end(error);
  };
  const onPart = (part: Buffer) => {
    bytes += part.length;
    parts.push(part);
    // It exists as bytes, as text and as values at the same time.
    const memory = part.length * 4 + PART_BYTES;
    if (bytes > BODY_LIMIT) fail(httpError(413));
    else if (tiny.isTooMany(part.length)) fail(httpError(400));
    else if (reservation?.tryReserve(memory) === false) {
      const isTooLarge = reservation.neverFits(memory);
      fail(isTooLarge ? httpError(413) : overloaded(tooManyLarge));
    }
    // The parts of a body of ordinary length are read at once.
    else if (bytes > 65_536) pauseUntil(reading.enterIteration(admissionKey), raw);
  };
  const onEnd = () => end(null, Buffer.concat(parts));
  const onError = () => end(httpError(400));
  // The event `end` will never come.
  if (raw.destroyed) onError();
  else raw.on('data', onPart).on('end', onEnd).on('error', onError);
}

/** Reads no further before the turn of the caller, if it has to wait for one. */
function pauseUntil(turn: Promise<void> | undefined, raw: IncomingMessage): void {
  if (turn) raw.pause();
  void turn?.then(() => raw.resume());
}

/**
 * Parses a body. Numbers stay exact, because a variable of type ID may be written as a number. The error is
 * `OPERATION_LIMIT_EXCEEDED` if the body exceeds a limit, and a bad request if it is not JSON.
 */
function parse(body: Buffer): [error: Error | null, value?: unknown] {
  try {
    const json = utf8.decode(body);
    // A short text has too few characters to exceed a limit.
    const isShort = json.length < jsonLimits.composites && !manyBrackets.test(json);
    const isPlain = isShort && !unusualNumber.test(json);
    return [null, isPlain ? JSON.parse(json) : parseJson(json, jsonLimits)];
  } catch (error) {
    if (!(error instanceof JsonLimitExceeded)) return [httpError(400)];
    return [limitExceeded(limitNames[error.limit], jsonLimits[error.limit])];
  }
}
