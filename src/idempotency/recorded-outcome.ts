import { z } from 'zod';
import { withShortTexts } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import { operations, type Responses, type WriteName } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';

/** The response of the service to a write, with the operation that tells how to read it. */
export type KnownOutcome = {
  [Name in WriteName]: { operation: Name; response: Responses[Name] };
}[WriteName];

/** The work and the memory of reading an outcome, in bytes for each character of its text. */
const READ_WORK = 3;
const READ_MEMORY = 2;

export const isWriteName = (name: string): name is WriteName =>
  Object.hasOwn(operations, name) && operations[name as WriteName].effect === 'write';

const recordedOutcome = z.union([
  z.object({ unknown: z.object({ code: z.enum(recordableCodes), requestId: z.string() }) }),
  z.object({ operation: z.string().refine(isWriteName), response: z.unknown() }),
]);

/** The text that a store keeps for the outcome of a write: all of it, or with its texts in their short form. */
export function encodeOutcome(operation: WriteName, outcome: object, isWhole = true): string {
  if (!(outcome instanceof OutcomeUnknown)) {
    return JSON.stringify({ operation, response: isWhole ? outcome : withShortTexts(outcome) });
  }
  const { code, requestId } = outcome;
  return JSON.stringify({ unknown: { code, requestId } });
}

/**
 * Reads a recorded outcome; null if the text is not one. It takes a turn and memory of the request: an outcome may be
 * megabytes long, and any number of requests may repeat it. Without that memory its texts are in their short form, because
 * the outcome of a write is never an error.
 */
export async function readOutcome(text: string, { turn, holding }: RequestScope) {
  await turn(text.length * READ_WORK);
  return decodeOutcome(text, holding.tryHold(text.length * READ_MEMORY));
}

export function decodeOutcome(text: string, isWhole = true): KnownOutcome | OutcomeUnknown | null {
  try {
    const value: unknown = JSON.parse(text);
    const recorded = recordedOutcome.parse(isWhole ? value : withShortTexts(value));
    if ('unknown' in recorded) {
      return new OutcomeUnknown(recorded.unknown.code, recorded.unknown.requestId);
    }
    const { operation } = recorded;
    const response = operations[operation].recorded?.parse(recorded.response);
    return response ? ({ operation, response } as KnownOutcome) : null;
  } catch {
    return null;
  }
}
