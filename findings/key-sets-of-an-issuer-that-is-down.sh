#!/usr/bin/env bash
# What verifiers of tokens do while the key set (JWKS) of the issuer cannot be fetched. jose, jwks-rsa and get-jwks fetch it again for each
# token, as often as tokens arrive, because the `cooldownDuration` of jose counts from the last success. jose and jwks-rsa forget keys after
# ten minutes, and then reject every token. With `rateLimit`, jwks-rsa fetches ten times, and then rejects valid tokens for the rest
# of the minute, also when the issuer has come back. get-jwks and aws-jwt-verify go on with the keys that they have, and so does jwks-rsa
# with `cacheMaxAgeFallback`.
#
# How to read the table: how often the key set is fetched, and how many tokens are accepted, of twenty valid ones that arrive one after the
# other. "down": the issuer answers 503, and has done so from the start. "back": right after that, it answers 200. "later": keys were
# fetched, and an hour later the issuer answers 503. Only the clock that the packages read advances by an hour.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                 down     back     later
#| jose 6.2.18                     20, 0    1, 20    20, 0
#| jwks-rsa 4.1.0                  20, 0    1, 20    20, 0
#| jwks-rsa, rateLimit: true       10, 0    0, 0     9, 0
#| jwks-rsa, cacheMaxAgeFallback   20, 0    1, 20    1, 20
#| get-jwks 11.0.3                 20, 0    1, 20    20, 20
#| aws-jwt-verify 5.2.1            20, 0    1, 20    0, 20
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm jose@6.2.18 jwks-rsa@4.1.0 get-jwks@11.0.3 aws-jwt-verify@5.2.1

cat > "$folder/verify.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import { JwtVerifier } from 'aws-jwt-verify';
import { SimpleJwksCache } from 'aws-jwt-verify/jwk';
import getJwks from 'get-jwks';
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import jwksRsa from 'jwks-rsa';

let hours = 0;
for (const clock of [Date, performance]) {
  const now = clock.now.bind(clock);
  clock.now = () => now() + hours * 3_600_000;
}

const { publicKey, privateKey } = await generateKeyPair('RS256');
const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }];
let isDown = false;
let fetches = 0;
const server = http.createServer((_, response) => {
  fetches++;
  response.writeHead(isDown ? 503 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(isDown ? {} : { keys }));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const domain = `http://127.0.0.1:${server.address().port}/`;
const jwksUri = `${domain}.well-known/jwks.json`;
const token = await new SignJWT({ iss: domain, aud: 'a' })
  .setProtectedHeader({ alg: 'RS256', kid: 'one' })
  .setExpirationTime('1 day')
  .sign(privateKey);

// aws-jwt-verify fetches over HTTPS only, unless it is given a function.
const fetcher = {
  async fetch(uri) {
    const response = await fetch(uri);
    if (!response.ok) throw new Error(String(response.status));
    return response.arrayBuffer();
  },
};
const makeVerifier = {
  'jose 6.2.18'() {
    const find = createRemoteJWKSet(new URL(jwksUri));
    return () => jwtVerify(token, find);
  },
  'jwks-rsa 4.1.0'() {
    const client = jwksRsa({ jwksUri });
    return () => client.getSigningKey('one');
  },
  'jwks-rsa, rateLimit: true'() {
    const client = jwksRsa({ jwksUri, rateLimit: true });
    return () => client.getSigningKey('one');
  },
  'jwks-rsa, cacheMaxAgeFallback'() {
    const client = jwksRsa({ jwksUri, cacheMaxAgeFallback: 86_400_000 });
    return () => client.getSigningKey('one');
  },
  'get-jwks 11.0.3'() {
    const client = getJwks();
    return () => client.getPublicKey({ kid: 'one', alg: 'RS256', domain });
  },
  'aws-jwt-verify 5.2.1'() {
    const verifier = JwtVerifier.create({ issuer: domain, audience: 'a', jwksUri }, { jwksCache: new SimpleJwksCache({ fetcher }) });
    return () => verifier.verify(token);
  },
};

async function verifyTwenty(verify) {
  let accepted = 0;
  fetches = 0;
  for (let number = 0; number < 20; number++) {
    await verify().then(
      () => accepted++,
      () => {},
    );
  }
  return `${fetches}, ${accepted}`;
}

const row = (name, cells) => console.log((name.padEnd(32) + cells.map((cell) => cell.padEnd(9)).join('')).trimEnd());
row('', ['down', 'back', 'later']);
for (const [name, make] of Object.entries(makeVerifier)) {
  hours = 0;
  isDown = true;
  const early = make();
  const down = await verifyTwenty(early);
  isDown = false;
  const back = await verifyTwenty(early);
  const verify = make();
  await verify();
  isDown = true;
  hours = 1;
  row(name, [down, back, await verifyTwenty(verify)]);
}
process.exit();
END

measure() { "$node" "$folder/verify.js"; }
check
