import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { z } from 'zod';

/** The sizes of RSA keys, in bits. Verification with a larger one takes milliseconds. */
const RSA_BITS = { min: 2048, max: 8192 };

const invalid = 'not a JSON Web Key Set';

/** A JSON Web Key Set. Keys with which no token can be verified safely are left out. */
export const keySet = z
  .object(
    {
      keys: z
        .array(z.looseObject({ kty: z.string(invalid) }, invalid), invalid)
        .max(100, 'more than 100 keys'), // More would make finding a key expensive.
    },
    invalid,
  )
  .transform(({ keys }) => ({ keys: keys.filter(isSafe) }))
  .refine(({ keys }) => keys.length > 0, 'no usable key');

/**
 * Whether a key is public and well-formed. With the RSA exponent 1, everybody could sign. A large exponent would make each
 * verification slow.
 */
function isSafe(jwk: JsonWebKey): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = RSA_BITS.min, publicExponent = 65_537n } = asymmetricKeyDetails ?? {};
    return (
      jwk.d === undefined &&
      modulusLength >= RSA_BITS.min &&
      modulusLength <= RSA_BITS.max &&
      publicExponent >= 3n &&
      publicExponent < 2n ** 64n &&
      publicExponent % 2n === 1n
    );
  } catch {
    return false;
  }
}
