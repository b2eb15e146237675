import { errors, type JWTVerifyResult } from 'jose';

/** Types of JWTs that an issuer also issues, and that are registered for something other than access tokens. */
const otherTypes = new Set(['dpop+jwt', 'logout+jwt', 'secevent+jwt', 'token-introspection+jwt']);

/** Claims that only an ID token has (OpenID Connect Core, sections 3.1.3.6 and 3.3.2.11). */
const idTokenClaims = ['at_hash', 'c_hash'];

export type TokenKinds = {
  /** The accepted values of `typ`, normalized. Undefined if every value is accepted. */
  types: string[] | undefined;
  /** Whether a proxy checks that the sender of a bound token has the key to which the token is bound. */
  isBindingChecked: boolean;
};

/** The form in which types are compared. `application/` may be left out of a media type (RFC 7515, section 4.1.9). */
export function normalizeType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '');
}

/**
 * Throws an error of jose if a verified token is certainly no access token, has none of the accepted types, or is bound to a
 * key that nobody checks. The claim of the error is `typ` or `cnf`.
 */
export function checkKind({ payload, protectedHeader }: JWTVerifyResult, kinds: TokenKinds): void {
  const { typ } = protectedHeader;
  const type = typeof typ === 'string' ? normalizeType(typ) : '';
  const isAccepted = kinds.types === undefined || kinds.types.includes(type);
  // Cognito says so in `token_use`. The other value is `access`.
  const isIdToken = payload.token_use === 'id' || idTokenClaims.some((claim) => claim in payload);
  if (!isAccepted || otherTypes.has(type) || isIdToken) {
    throw new errors.JWTClaimValidationFailed('no accepted access token', payload, 'typ');
  }
  if ('cnf' in payload && !kinds.isBindingChecked) {
    throw new errors.JWTClaimValidationFailed('bound to a key', payload, 'cnf');
  }
}
