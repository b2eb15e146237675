import { randomBytes } from 'node:crypto';
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

test('public RSA, EC and Ed25519 keys are kept', async () => {
  const ed = await exportJWK((await generateKeyPair('EdDSA')).publicKey);
  const keys = [rsa, { ...rsa, e: 'Aw' }, { ...rsa, n: modulus(8192) }, ec, ed];
  expect(keySet.parse({ keys, name: 'other' })).toEqual({ keys });
});

test.each<[string, object]>([
  ['an RSA key with the exponent 1', { ...rsa, e: 'AQ' }],
  ['an RSA key with the exponent 0', { ...rsa, e: 'AA' }],
  ['an RSA key with an even exponent', { ...rsa, e: 'Ag' }],
  ['an RSA key with an exponent of 65 bits', { ...rsa, e: 'AQAAAAAAAAAB' }],
  ['an RSA key of 1024 bits', { ...rsa, n: modulus(1024) }],
  ['an RSA key of 16,384 bits', { ...rsa, n: modulus(16_384) }],
  ['an RSA key without a modulus', { ...rsa, n: undefined }],
  ['a private key', await exportJWK(privateKey)],
  ['a point that is not on the curve', { ...ec, x: ec.y }],
  ['a shared secret', { kty: 'oct', k: 'c2VjcmV0' }],
  ['a key of an unknown type', { kty: 'other' }],
])('%s is left out', (_, key) => {
  expect(keySet.parse({ keys: [key, ec] })).toEqual({ keys: [ec] });
  expect(keySet.safeParse({ keys: [key] }).error?.issues[0]?.message).toBe('no usable key');
});

test.each<[string, unknown]>([
  ['no usable key', { keys: [] }],
  ['more than 100 keys', { keys: Array(101).fill(ec) }],
  ['not a JSON Web Key Set', null],
  ['not a JSON Web Key Set', [ec]],
  ['not a JSON Web Key Set', { keys: { ec } }],
  ['not a JSON Web Key Set', { keys: [null] }],
  ['not a JSON Web Key Set', { keys: [{}] }],
])('a set is rejected as %s: %j', (message, value) => {
  expect(keySet.safeParse(value).error?.issues[0]?.message).toBe(message);
});
