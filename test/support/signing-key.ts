import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** A new key of an issuer: its public JWK, and tokens that it signs, valid except for the given claims and header. */
export async function createSigningKey(kid: string, alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  return {
    privateKey,
    publicKey,
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    sign(claims: Record<string, unknown> = {}, header: object = {}) {
      const exp = Math.floor(Date.now() / 1000) + 600;
      return new SignJWT({ iss: 'issuer', aud: 'gateway', sub: 'ada', exp, ...claims })
        .setProtectedHeader({ alg, kid, ...header })
        .sign(privateKey);
    },
  };
}
