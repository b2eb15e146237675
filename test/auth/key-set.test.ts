import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { keySet } from '../../src/auth/key-set.ts';

const modulus = (bits: number) => {
  const bytes = randomBytes(bits / 8);
  bytes[0] = 0x80 | (bytes[0] ?? 0);
  return bytes.toString('base64url');
};
const rsa = { kty: 'RSA', n: modulus(2048), e: 'AQAB' };
const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
const ec = await exportJWK(publicKey);

function jwkOf(type: 'ed448' | 'ec', namedCurve = '') {
  const { publicKey } =
    type === 'ec' ? generateKeyPairSync(type, { namedCurve }) : generateKeyPairSync(type);
  return publicKey.export({ format: 'jwk' });
}

test('public RSA, EC and Ed25519 keys are kept', async () => {
  const ed = await exportJWK((await generateKeyPair('EdDSA')).publicKey);
  const sized = [rsa, { ...rsa, e: 'Aw' }, { ...rsa, n: modulus(8192) }, ec, ed];
  const described = [
    { ...rsa, use: 'sig', alg: 'PS512' },
    { ...ed, alg: 'EdDSA', key_ops: ['verify'] },
  ];
  const keys = [...sized, ...described];
  expect(keySet.parse({ keys, name: 'other' })).toEqual({ keys, leftOut: [] });
});

const exponent = 'an RSA key whose exponent is not an odd number from 3 to 2⁶⁴';
const size = 'an RSA key with fewer than 2048 or more than 8192 bits';
const algorithm = 'for no algorithm that the gateway accepts';
const unsupported = 'no valid public key of a supported type';
test.each<[string, object, fault: string]>([
  ['an RSA key with the exponent 1', { ...rsa, e: 'AQ' }, exponent],
  ['an RSA key with the exponent 0', { ...rsa, e: 'AA' }, exponent],
  ['an RSA key with an even exponent', { ...rsa, e: 'Ag' }, exponent],
  ['an RSA key with an exponent of 65 bits', { ...rsa, e: 'AQAAAAAAAAAB' }, exponent],
  ['an RSA key of 1024 bits', { ...rsa, n: modulus(1024) }, size],
  ['an RSA key of 16,384 bits', { ...rsa, n: modulus(16_384) }, size],
  ['an RSA key without a modulus', { ...rsa, n: undefined }, unsupported],
  ['a private key', await exportJWK(privateKey), 'a private key'],
  ['a point that is not on the curve', { ...ec, x: ec.y }, unsupported],
  ['a shared secret', { kty: 'oct', k: 'c2VjcmV0' }, unsupported],
  ['a key of an unknown type', { kty: 'other' }, unsupported],
  ['a key for encryption', { ...rsa, use: 'enc' }, 'not for signatures'],
  ['a key for other operations', { ...ec, key_ops: ['deriveKey'] }, 'not for signatures'],
  ['a key for an algorithm of encryption', { ...rsa, alg: 'RSA-OAEP' }, algorithm],
  ['a key for an algorithm of another type', { ...ec, alg: 'RS256' }, algorithm],
  ['a key of the curve Ed448', jwkOf('ed448'), algorithm],
  ['a key of the curve secp256k1', jwkOf('ec', 'secp256k1'), algorithm],
])('%s is left out, with its id and the reason', (_, key, fault) => {
  const kid = `a\n${'k'.repeat(200)}`;
  expect(keySet.parse({ keys: [{ ...key, kid }, ec] })).toEqual({
    keys: [ec],
    leftOut: [{ kid: expect.stringMatching(/^a\?k+…$/), fault }],
  });
  expect(keySet.safeParse({ keys: [key, key] }).error?.issues[0]?.message).toBe(
    `no usable key: ${fault}`,
  );
});

test.each<[string, unknown]>([
  ['no keys', { keys: [] }],
  ['more than 100 keys', { keys: Array(101).fill(ec) }],
  ['not a JSON Web Key Set', null],
  ['not a JSON Web Key Set', [ec]],
  ['not a JSON Web Key Set', { keys: { ec } }],
  ['not a JSON Web Key Set', { keys: [null] }],
  ['not a JSON Web Key Set', { keys: [{}] }],
])('a set is rejected as %s: %j', (message, value) => {
  expect(keySet.safeParse(value).error?.issues[0]?.message).toBe(message);
});
