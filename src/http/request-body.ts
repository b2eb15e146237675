import type { FastifyInstance, FastifyRequest } from 'fastify';
import { InvalidRequest } from '../errors/gateway-error.ts';
import { parseExactly, parseInSteps } from '../lib/exact-json.ts';
import type { TaskQueue } from '../lib/task-queue.ts';
import { checkJson } from './json-limits.ts';

/** The largest request body, in bytes: a CSV of 12 MB as base64. */
export const BODY_LIMIT = 16_777_216;

/** A shorter body, in bytes, is parsed at once: it takes less than 0.1 ms. */
const SHORT_BODY = 4096;

/** Rejects invalid UTF-8, which would otherwise be sent to the service as other characters. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Registers the parser for JSON, the only content type. Long bodies are parsed one at a time. */
export function registerBodyParser(app: FastifyInstance, taskQueue: TaskQueue): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_: FastifyRequest, body: Buffer) => {
      await checkJson(body);
      // Exactly, because a variable of type ID may be written as a number.
      if (body.length < SHORT_BODY) return orBadRequest(() => parseExactly(utf8.decode(body)));
      // Each step is a task of its own, and so is the execution.
      const turn = () => taskQueue.slot(body.length, 'start');
      await turn();
      const text = orBadRequest(() => utf8.decode(body));
      await turn();
      const steps = parseInSteps(text);
      for (;;) {
        const { done, value } = orBadRequest(() => steps.next());
        await turn();
        if (done) return value;
      }
    },
  );
}

function orBadRequest<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch {
    throw new InvalidRequest(400);
  }
}
