import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose';
import type { Issuer } from './issuer.ts';
import type { KeySet } from './key-set.ts';

/**
 * Returns what finds the key of a token of an issuer in a set. Of a set that several tenants share, a key that names an issuer
 * is only for the tokens of this issuer, as in the sets of Entra ID. If no key of the set has an id, that of a token cannot
 * select one: all keys that fit the algorithm of the token are tried.
 */
export function createKeyFinder(
  { keys: all }: KeySet,
  { issuer, tenant }: Issuer,
): JWTVerifyGetKey {
  const named = [undefined, issuer, tenant?.template];
  const keys = tenant ? all.filter((key) => named.some((name) => name === key.issuer)) : all;
  const find = createLocalJWKSet({ keys });
  if (keys.some(({ kid }) => kid !== undefined)) return find;
  return ({ kid, ...header }, token) => find(header, token);
}
