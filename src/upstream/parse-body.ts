import { JsonLimitExceeded, type JsonLimits, parseJson } from '../lib/json.ts';
import { ContractFault } from './wire-types.ts';

/** Rejects invalid UTF-8, and removes a byte order mark. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A list of 16 MB of typical codes has 250,000. An empty one takes 50 times its text in memory. */
const limits: JsonLimits = { values: 2_000_000, composites: 300_000, nesting: 1000 };
/** A number that a double may change, or no integer but one to a double (`1e-400`); or what looks like one in a text. */
const unusualNumber = /[:[,]\s*-?(?:[\d.]{16}|[\d.]+[eE])/;

/**
 * Parses the body of a response, with integers of any length and, if it has decimals, their digits. Throws a ContractFault if
 * it is not UTF-8 or not JSON, or has too many values.
 */
export function parseBody(body: Uint8Array, hasDecimals = false): unknown {
  try {
    const text = utf8.decode(body);
    // A short body takes little memory, whatever it holds.
    const isPlain = body.length < 262_144 && !hasDecimals && !unusualNumber.test(text);
    return isPlain ? (JSON.parse(text) as unknown) : parseJson(text, limits, hasDecimals);
  } catch (error) {
    // The error of a parser quotes the body, which may be confidential.
    throw new ContractFault(error instanceof JsonLimitExceeded ? error.message : 'not JSON');
  }
}
