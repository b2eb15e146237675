import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { Issuer } from './issuer.ts';
import type { KeySet } from './key-set.ts';

/**
 * Returns what finds the key of a token of an issuer in a set. Of a set that several tenants share, a key that names an issuer
 * is only for the tokens of this issuer, as in the sets of Entra ID. If no key that fits the algorithm of a token has an id, that
 * of the token cannot select one: all these keys are tried.
 */
export function createKeyFinder(
  { keys: all }: KeySet,
  { issuer, tenant }: Issuer,
): JWTVerifyGetKey {
  const named = [undefined, issuer, tenant?.template];
  const keys = tenant ? all.filter((key) => named.some((name) => name === key.issuer)) : all;
  const find = createLocalJWKSet({ keys });
  const withIds = keys.filter(({ kid }) => kid !== undefined);
  if (withIds.length === keys.length) return find;
  const findWithId = createLocalJWKSet({ keys: withIds });
  return async (header, token) => {
    const { kid, ...others } = header;
    const severalFit = (error: unknown) => !(error instanceof errors.JWKSNoMatchingKey);
    const hasIds = await findWithId(others, token).then(() => true, severalFit);
    return find(hasIds ? header : others, token);
  };
}
