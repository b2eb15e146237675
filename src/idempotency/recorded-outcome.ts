import { z } from 'zod';
import { operations, type Responses, type WriteName } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';

/** The response of the service to a write, with the operation that tells how to read it. */
export type KnownOutcome = {
  [Name in WriteName]: { operation: Name; response: Responses[Name] };
}[WriteName];

export const isWriteName = (name: string): name is WriteName =>
  Object.hasOwn(operations, name) && operations[name as WriteName].effect === 'write';

const recordedOutcome = z.union([
  z.object({ unknown: z.object({ code: z.enum(recordableCodes), requestId: z.string() }) }),
  z.object({ operation: z.string().refine(isWriteName), response: z.unknown() }),
]);

/** The text that a store keeps for the outcome of a write. */
export function encodeOutcome(operation: WriteName, outcome: object): string {
  if (!(outcome instanceof OutcomeUnknown)) return JSON.stringify({ operation, response: outcome });
  const { code, requestId } = outcome;
  return JSON.stringify({ unknown: { code, requestId } });
}

/** Reads a recorded outcome; null if the text is not one. */
export function decodeOutcome(text: string): KnownOutcome | OutcomeUnknown | null {
  try {
    const recorded = recordedOutcome.parse(JSON.parse(text));
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
