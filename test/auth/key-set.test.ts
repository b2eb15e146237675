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
  expect(keySet.parse({ keys, name: 'other' })).toEqual({ keys, leftOut: [] });
});

const exponent = 'an RSA key whose exponent is not an odd number from 3 to 2⁶⁴';
const size = 'an RSA key with fewer than 2048 or more than 8192 bits';
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
