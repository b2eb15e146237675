import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { printable } from '../lib/short-text.ts';

/** The sizes of RSA keys, in bits. Verification with a larger one takes milliseconds. */
const RSA_BITS = { min: 2048, max: 8192 };

/** The algorithms of tokens that a key can verify, by its curve, or by its type if it has none. */
const algorithmsByKey = new Map([
  ['RSA', ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
  ['P-256', ['ES256']],
  ['P-384', ['ES384']],
  ['P-521', ['ES512']],
  ['Ed25519', ['EdDSA', 'Ed25519']],
]);

/** The algorithms of tokens that can be accepted. With a shared secret, every verifier could forge tokens. */
export const algorithmNames = [...algorithmsByKey.values()].flat();

const invalid = 'not a JSON Web Key Set';

/** A JSON Web Key Set. */
export type KeySet = z.infer<typeof keySet>;

/** Reads a JSON Web Key Set. Keys with which no token can be verified safely are left out, with the reason. */
export const keySet = z
  .object(
    {
      keys: z
        .array(z.looseObject({ kty: z.string(invalid) }, invalid), invalid)
        .min(1, 'no keys')
        .max(100, 'more than 100 keys'), // More would make finding a key expensive.
    },
    invalid,
  )
  .transform(({ keys: all }, context) => {
    const keys: typeof all = [];
    const leftOut: { kid: string | undefined; fault: string }[] = [];
    for (const key of all) {
      const fault = faultOf(key);
      if (fault === undefined) keys.push(key);
      else
        leftOut.push({ kid: typeof key.kid === 'string' ? printable(key.kid) : undefined, fault });
    }
    if (keys.length === 0) {
      const faults = new Set(leftOut.map(({ fault }) => fault));
      context.addIssue({ code: 'custom', message: `no usable key: ${[...faults].join(', ')}` });
    }
    return { keys, leftOut };
  });

/** The algorithms of tokens that can be verified with a key. */
export function algorithmsOf({ kty = '', crv = kty, alg }: JsonWebKey): string[] {
  const names = algorithmsByKey.get(crv) ?? [];
  return alg === undefined ? names : names.filter((name) => name === alg);
}

const NOT_FOR_SIGNATURES = 'not for signatures';

/**
 * Why no token can be verified safely with a key. Undefined if the key is public and well-formed. With the RSA exponent 1,
 * everybody could sign. A large exponent would make each verification slow.
 */
function faultOf(jwk: JsonWebKey): string | undefined {
  if (jwk.d !== undefined) return 'a private key';
  const { use = 'sig', key_ops: operations = ['verify'] } = jwk;
  const isForSignatures =
    use === 'sig' && Array.isArray(operations) && operations.includes('verify');
  if (!isForSignatures) return NOT_FOR_SIGNATURES;
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = RSA_BITS.min, publicExponent = 65_537n } = asymmetricKeyDetails ?? {};
    const { min, max } = RSA_BITS;
    if (modulusLength < min || modulusLength > max) {
      return `an RSA key with fewer than ${min} or more than ${max} bits`;
    }
    const isSafe = publicExponent >= 3n && publicExponent < 2n ** 64n && publicExponent % 2n === 1n;
    if (!isSafe) return 'an RSA key whose exponent is not an odd number from 3 to 2⁶⁴';
    return algorithmsOf(jwk).length > 0 ? undefined : 'for no algorithm that the gateway accepts';
  } catch {
    return 'no valid public key of a supported type';
  }
}

/** Logs the keys of a set that are left out. Many issuers publish one for encryption, too, so that is no warning. */
export function logLeftOut(log: Logger, { leftOut }: KeySet): void {
  if (leftOut.length === 0) return;
  const isExpected = leftOut.every(({ fault }) => fault === NOT_FOR_SIGNATURES);
  if (isExpected) log.info({ keys: leftOut }, 'keys left out');
  else log.warn({ keys: leftOut }, 'keys left out');
}
