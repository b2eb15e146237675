#!/usr/bin/env bash
# oidc-provider rejects options whose objects come from another realm, such as those of `node:vm`, with errors that do not say so. Jest
# runs each test file in a realm of its own, and loads a package in another one if it is not transformed. So a provider that starts in
# Node does not start in a test. The reason is a check by `constructor === Object`.
#
# How to read the table: what `new Provider(issuer, options)` does with the same options from its own realm and from another one.
#
# Seen on 2026-11-29 with Node 24.21.0 and oidc-provider 9.13.3.
#
#| scopes     accepted, accepted
#| ttl        accepted, accepted
#| features   accepted, TypeError: features.attestClientAuth must be an own property
#| claims     accepted, TypeError: Cannot convert undefined or null to object
#| cookies    accepted, TypeError: Cannot convert undefined or null to object
#| clients    accepted, InvalidClientMetadata: invalid_client_metadata
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm oidc-provider@9.13.3

cat > "$folder/realms.js" <<'END'
import { runInNewContext } from 'node:vm';
import Provider from 'oidc-provider';

const options = {
  scopes: '["a"]',
  ttl: '{ AccessToken: 60 }',
  features: '{ clientCredentials: { enabled: true } }',
  claims: '{ a: null }',
  cookies: '{ keys: ["a"] }',
  clients: '[{ client_id: "a", client_secret: "b", redirect_uris: ["https://a.example/"] }]',
};
for (const level of ['info', 'warn']) console[level] = () => {};

function start(text, evaluate) {
  try {
    new Provider('http://localhost', evaluate(`(${text})`));
    return 'accepted';
  } catch (error) {
    return `${error.constructor.name}: ${error.message}`;
  }
}

for (const [name, value] of Object.entries(options)) {
  const text = `{ ${name}: ${value} }`;
  const own = start(text, globalThis.eval);
  console.log(`${name.padEnd(10)} ${own}, ${start(text, runInNewContext)}`);
}
END

measure() { "$node" "$folder/realms.js"; }
check
