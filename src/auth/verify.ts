import { errors, type JSONWebKeySet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';

export type JwtConfig = {
  /** The URL of the keys, or the keys themselves. */
  keys: URL | JSONWebKeySet;
  issuer: string;
  audience: string;
  algorithms: string[];
  clockToleranceS: number;
};

/** Returns a function that verifies a token and resolves to its claims. It throws the errors of jose. */
export function createVerify(
  config: JwtConfig,
  getKey: JWTVerifyGetKey,
): (token: string) => Promise<JWTPayload> {
  const options = {
    issuer: config.issuer,
    audience: config.audience,
    algorithms: config.algorithms,
    clockTolerance: config.clockToleranceS,
    requiredClaims: ['exp'],
  };
  return async (token) => {
    try {
      return (await jwtVerify(token, getKey, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // Several keys match a token without `kid`: try each.
      for await (const key of error) {
        const result = await jwtVerify(token, key, options).catch((failure: unknown) => {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        });
        if (result) return result.payload;
      }
      throw error;
    }
  };
}
