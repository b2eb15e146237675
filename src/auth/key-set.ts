import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { printable } from '../lib/short-text.ts';

/** The sizes of RSA keys, in bits. Verification with a larger one takes milliseconds. */
const RSA_BITS = { min: 2048, max: 8192 };

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

/**
 * Why no token can be verified safely with a key. Undefined if the key is public and well-formed. With the RSA exponent 1,
 * everybody could sign. A large exponent would make each verification slow.
 */
function faultOf(jwk: JsonWebKey): string | undefined {
  if (jwk.d !== undefined) return 'a private key';
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = RSA_BITS.min, publicExponent = 65_537n } = asymmetricKeyDetails ?? {};
    const { min, max } = RSA_BITS;
    if (modulusLength < min || modulusLength > max) {
      return `an RSA key with fewer than ${min} or more than ${max} bits`;
    }
    const isSafe = publicExponent >= 3n && publicExponent < 2n ** 64n && publicExponent % 2n === 1n;
    return isSafe ? undefined : 'an RSA key whose exponent is not an odd number from 3 to 2⁶⁴';
  } catch {
    return 'no valid public key of a supported type';
  }
}

/** Logs the keys of a set that are left out. */
export function logLeftOut(log: Logger, { leftOut }: KeySet): void {
  if (leftOut.length > 0) log.warn({ keys: leftOut }, 'keys left out');
}
