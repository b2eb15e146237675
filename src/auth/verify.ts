import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import type { Rejection, RejectionReason } from '../errors/gateway-error.ts';
import { printable } from '../lib/short-text.ts';
import type { Issuer } from './issuer.ts';
import type { KeySource } from './key-source.ts';
import { KeysUnavailable } from './remote-key-set.ts';

export type JwtConfig = {
  issuers: readonly Issuer[];
  /** The accepted algorithms of issuers that do not name their own. */
  algorithms: readonly string[];
  clockToleranceS: number;
  /** The accepted values of `typ`, normalized. Undefined if every value is accepted. */
  types: string[] | undefined;
  /** Whether a proxy checks that the sender of a bound token has the key to which the token is bound. */
  isBindingChecked: boolean;
};

/** Types of JWTs that an issuer also issues, and that are registered for something other than access tokens. */
const otherTypes = new Set(['dpop+jwt', 'logout+jwt', 'secevent+jwt', 'token-introspection+jwt']);

/** Values of the claims `typ` (Keycloak) and `token_use` (Cognito), which name the kind of a token, for all but access tokens. */
const otherKinds = new Set(['id', 'refresh', 'offline', 'logout']);

/** Claims that only an ID token has (OpenID Connect Core, sections 3.1.3.6 and 3.3.2.11). */
const idTokenClaims = ['at_hash', 'c_hash'];

/** Returns a function that verifies a token and resolves to its claims. It throws KeysUnavailable or errors of jose. */
export function createVerify(config: JwtConfig, keySource: KeySource) {
  return async (token: string): Promise<JWTPayload> => {
    // This issuer is not verified yet, and only selects what the token is verified with. jose checks it with the signature.
    const claims = decodeJwt(token);
    const accepted = keySource.find(claims.iss);
    const reject = (claim: 'iss' | 'aud' | 'typ' | 'cnf') => {
      throw new errors.JWTClaimValidationFailed(`unexpected "${claim}"`, claims, claim);
    };
    if (!accepted) return reject('iss');
    const { issuer, findKey } = accepted;
    const { algorithms = config.algorithms, audiences, tenant } = issuer;
    const audienceClaim = claims.aud === undefined ? issuer.audienceClaim : undefined;
    const verified = await verifySignature(token, findKey, {
      issuer: issuer.issuer,
      algorithms: [...algorithms],
      clockTolerance: config.clockToleranceS,
      requiredClaims: ['exp'],
      ...(audienceClaim === undefined && { audience: [...audiences] }),
    });
    const { payload } = verified;
    const named = payload[audienceClaim ?? 'aud'];
    if (audienceClaim !== undefined && !audiences.some((one) => one === named)) reject('aud');
    if (tenant && payload.tid !== tenant.id) reject('iss');
    const claim = kindFaultOf(verified, config);
    return claim ? reject(claim) : payload;
  };
}

async function verifySignature(
  token: string,
  findKey: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, findKey, options);
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

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

/** The form in which types are compared. `application/` may be left out of a media type (RFC 7515, section 4.1.9). */
export function normalizeType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '');
}

/** `typ` for a token that is certainly no access token, or has none of the accepted types. `cnf` if it is bound to a key that nobody checks. */
function kindFaultOf(
  { payload, protectedHeader }: JWTVerifyResult,
  { types, isBindingChecked }: JwtConfig,
): 'typ' | 'cnf' | undefined {
  const type = normalizeType(textOf(protectedHeader.typ));
  const isOther =
    otherTypes.has(type) ||
    [payload.typ, payload.token_use].some((kind) => otherKinds.has(textOf(kind).toLowerCase())) ||
    idTokenClaims.some((claim) => claim in payload);
  if (isOther || types?.includes(type) === false) return 'typ';
  return isBindingChecked || !('cnf' in payload) ? undefined : 'cnf';
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
