import { JsonLimitExceeded, type JsonLimits, parseJson } from '../lib/json.ts';
import { ContractFault } from './wire-types.ts';

/** Rejects invalid UTF-8, and removes a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The most lists and objects in a response. 16 MB of typical codes have 250,000, and empty ones take 50 times their text. */
const limits: JsonLimits = { values: 2_000_000, composites: 300_000, nesting: 1000 };
/** Matches a number that a double may change, or would make an integer (`1e-400`), and texts that look like such a number. */
const unusualNumber = /[:[,]\s*-?(?:[\d.]{16}|[\d.]+[eE])/;

/**
 * Parses the body of a response. Integers of any length stay exact, and with `keepsDigits` all numbers. Throws a ContractFault if the body is not UTF-8 or not JSON, or has too many values.
 */
export function parseBody(body: Uint8Array, keepsDigits = false): unknown {
  try {
    const text = utf8.decode(body);
    // A short body takes little memory, whatever it holds.
    const isPlain = body.length < 262_144 && !keepsDigits && !unusualNumber.test(text);
    return isPlain ? (JSON.parse(text) as unknown) : parseJson(text, limits, keepsDigits);
  } catch (error) {
    // The error of the parser is not passed on, because it quotes the body, which may be confidential.
    throw new ContractFault(error instanceof JsonLimitExceeded ? error.message : 'not JSON');
  }
}
