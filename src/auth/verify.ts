import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import type { Rejection, RejectionReason } from '../errors/gateway-error.ts';
import { printable } from '../lib/short-text.ts';
import type { KeySource } from './jwks.ts';
import type { KeySet } from './key-set.ts';
import { KeysUnavailable } from './remote-key-set.ts';
import { checkKind, type TokenKinds } from './token-kind.ts';

export type JwtConfig = TokenKinds & {
  /** The URL of the keys, or the keys themselves. Undefined if they are found by discovery. */
  keys: URL | KeySet | undefined;
  issuers: string[];
  audiences: string[];
  algorithms: string[];
  clockToleranceS: number;
};

/** Returns a function that verifies a token and resolves to its claims. It throws KeysUnavailable or errors of jose. */
export function createVerify(config: JwtConfig, keySource: KeySource) {
  const options = {
    issuer: config.issuers,
    audience: config.audiences,
    algorithms: config.algorithms,
    clockTolerance: config.clockToleranceS,
    requiredClaims: ['exp'],
  };

  async function verifySignature(token: string): Promise<JWTVerifyResult> {
    // This issuer is not verified yet, and only selects the keys. jose checks it again with the signature.
    const claims = decodeJwt(token);
    const getKey = keySource.keysOf(claims.iss);
    if (!getKey) {
      throw new errors.JWTClaimValidationFailed('unexpected "iss" claim value', claims, 'iss');
    }
    try {
      return await jwtVerify(token, getKey, options);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // Several keys match a token without `kid`. At most three are tried, because each costs a verification.
      for (const key of (await Array.fromAsync(error)).slice(0, 3)) {
        const result = await jwtVerify(token, key, options).catch((failure: unknown) => {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        });
        if (result) return result;
      }
      throw error;
    }
  }

  return async (token: string): Promise<JWTPayload> => {
    const verified = await verifySignature(token);
    checkKind(verified, config);
    return verified.payload;
  };
}

/** The issuer and the key id that a rejected token names, for the log. Anybody can choose them. */
export function unverifiedOf(token: string): Omit<Rejection, 'reason'> {
  try {
    const { kid } = decodeProtectedHeader(token);
    return { issuer: printableClaim(decodeJwt(token).iss), kid: printableClaim(kid) };
  } catch {
    return {}; // The token is no JWT.
  }
}

/** The beginning of a claim for the log. Undefined if it is not text. */
export function printableClaim(claim: unknown): string | undefined {
  return typeof claim === 'string' ? printable(claim) : undefined;
}

/** The reasons by the code of an error of jose, or by the claim that the error is about. */
const reasons: Partial<Record<string, RejectionReason>> = {
  iss: 'issuer',
  aud: 'audience',
  nbf: 'not_yet_valid',
  typ: 'type',
  cnf: 'bound',
  ERR_JWT_EXPIRED: 'expired',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'signature',
  ERR_JOSE_ALG_NOT_ALLOWED: 'signature',
};

/** Why a token was rejected, from the error of its verification. */
export function reasonOf(error: unknown): RejectionReason {
  if (error instanceof KeysUnavailable) return 'keys_unavailable';
  // A claim of the wrong type says nothing about its value.
  const isOfClaim = error instanceof errors.JWTClaimValidationFailed && error.reason !== 'invalid';
  const cause = error instanceof errors.JOSEError ? error.code : '';
  return reasons[isOfClaim ? error.claim : cause] ?? 'malformed';
}
