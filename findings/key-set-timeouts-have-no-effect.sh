#!/usr/bin/env bash
# What a timeout of one second does while the keys of an issuer (JWKS) are fetched to verify a token. `timeout` of get-jwks, which is 5 s by
# default, has no effect, because get-jwks gives it to `fetch`, which has no such option. `timeout` of jwks-rsa does not end a response whose
# body is slow. The `jwk` middleware of Hono has no timeout, and fetches the keys for each request. The request with the token waits as long.
#
# How to read the table: whether the token is verified ("key") or the fetch is given up ("error"), and after how many seconds. "late": the
# issuer answers after three seconds. "slow": its headers come at once, and a part of the body every half second for three seconds. "fetches":
# how often the keys are fetched for ten tokens, one after the other, if the issuer is fast.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                 late         slow         fetches
#| get-jwks, timeout: 1000         key, 3 s     key, 3 s     1
#| get-jwks, fetchOptions.timeout  key, 3 s     key, 3 s     1
#| jwks-rsa, timeout: 1000         error, 1 s   key, 3 s     1
#| jose, timeoutDuration: 1000     error, 1 s   error, 1 s   1
#| hono 4.13.19, jwk               key, 3 s     key, 3 s     10
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm get-jwks@11.0.3 jwks-rsa@4.1.0 jose@6.2.18 hono@4.13.19

cat > "$folder/verify.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import getJwks from 'get-jwks';
import { Hono } from 'hono';
import { jwk } from 'hono/jwk';
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import jwksRsa from 'jwks-rsa';

const { publicKey, privateKey } = await generateKeyPair('RS256');
const keySet = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }] });
let fetches = 0;
const server = http.createServer(async ({ url }, response) => {
  fetches++;
  if (url === '/late') await wait(3000);
  response.setHeader('content-type', 'application/json');
  let sent = 0;
  for (; url === '/slow' && sent < 60; sent += 10) {
    response.write(keySet.slice(sent, sent + 10));
    await wait(500);
  }
  response.end(keySet.slice(sent));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const domain = `http://127.0.0.1:${server.address().port}/`;
const token = await new SignJWT({ iss: domain, aud: 'a' })
  .setProtectedHeader({ alg: 'RS256', kid: 'one' })
  .setExpirationTime('1 day')
  .sign(privateKey);

const verifyWithGetJwks = (options) => {
  const client = getJwks(options);
  return () => client.getPublicKey({ kid: 'one', alg: 'RS256', domain });
};
const makeVerifier = {
  'get-jwks, timeout: 1000': (jwksPath) => verifyWithGetJwks({ jwksPath, timeout: 1000 }),
  'get-jwks, fetchOptions.timeout': (jwksPath) => verifyWithGetJwks({ jwksPath, fetchOptions: { timeout: 1000 } }),
  'jwks-rsa, timeout: 1000'(path) {
    const client = jwksRsa({ jwksUri: domain + path, timeout: 1000 });
    return () => client.getSigningKey('one');
  },
  'jose, timeoutDuration: 1000'(path) {
    const find = createRemoteJWKSet(new URL(domain + path), { timeoutDuration: 1000 });
    return () => jwtVerify(token, find);
  },
  'hono 4.13.19, jwk'(path) {
    const app = new Hono().use(jwk({ jwks_uri: domain + path, alg: ['RS256'] })).get('/', (context) => context.text('ok'));
    app.onError((error) => new Response(error.message, { status: 500 }));
    return async () => {
      if (!(await app.request('/', { headers: { authorization: `Bearer ${token}` } })).ok) throw new Error('rejected');
    };
  },
};

const row = (name, cells) => console.log((name.padEnd(32) + cells.map((cell) => String(cell).padEnd(13)).join('')).trimEnd());
row('', ['late', 'slow', 'fetches']);
for (const [name, make] of Object.entries(makeVerifier)) {
  const attempts = ['late', 'slow'].map(async (path) => {
    const begin = performance.now();
    const verify = make(path);
    const result = await verify().then(
      () => 'key',
      () => 'error',
    );
    return `${result}, ${Math.floor((performance.now() - begin + 50) / 1000)} s`;
  });
  const cells = await Promise.all(attempts);
  fetches = 0;
  const verify = make('fast');
  for (let number = 0; number < 10; number++) await verify();
  row(name, [...cells, fetches]);
}
process.exit();
END

measure() { "$node" "$folder/verify.js"; }
check
