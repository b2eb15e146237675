import { z } from 'zod';
import { operations, type Responses, type WriteName } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';

const recordedOutcome = z.union([
  z.object({ unknown: z.object({ code: z.enum(recordableCodes), requestId: z.string() }) }),
  z.object({ response: z.unknown() }),
]);

/** The text that a store keeps for the outcome of a write. */
export function encodeOutcome(outcome: object): string {
  if (!(outcome instanceof OutcomeUnknown)) return JSON.stringify({ response: outcome });
  const { code, requestId } = outcome;
  return JSON.stringify({ unknown: { code, requestId } });
}

/** Reads a recorded outcome of an operation; null if the text is not one. */
export function decodeOutcome<Name extends WriteName>(
  operation: Name,
  text: string,
): Responses[Name] | OutcomeUnknown | null {
  try {
    const recorded = recordedOutcome.parse(JSON.parse(text));
    if (!('unknown' in recorded)) {
      return operations[operation].recorded?.parse(recorded.response) ?? null;
    }
    return new OutcomeUnknown(recorded.unknown.code, recorded.unknown.requestId);
  } catch {
    return null;
  }
}
