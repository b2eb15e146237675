#!/usr/bin/env bash
# What a client sees if a server rejects its certificate. A server of Node (`requestCert`, `rejectUnauthorized`) sends a TLS alert if the
# client has no certificate. If it has one that the server does not trust, Node only closes the connection after the handshake. So the client
# gets a connection reset, like that of a server that has crashed. A server of OpenSSL sends an alert in both cases.
#
# How to read the table: the status or the error code of `https` of Node, by the certificate of the client.
#
# Seen on 2026-11-29 with Node 24.21.0 and OpenSSL 3.0.19.
#
#|                   none                                      trusted                                   other
#| Node, TLS 1.2     alert handshake failure                   200                                       ECONNRESET
#| Node, TLS 1.3     ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED 200                                       ECONNRESET
#| OpenSSL, TLS 1.2  alert handshake failure                   200                                       alert unknown ca
#| OpenSSL, TLS 1.3  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED 200                                       ERR_SSL_TLSV1_ALERT_UNKNOWN_CA
. "$(dirname "$0")/common.sh"

need openssl:openssl
openssl version

for name in server trusted other; do
  openssl req -x509 -newkey rsa:2048 -nodes -subj "/CN=$name" -days 2 -keyout "$folder/$name.key" -out "$folder/$name.pem" 2> /dev/null
done

cat > "$folder/clients.js" <<'END'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import https from 'node:https';

const folder = process.argv[2];
const of = (name) => ({ key: readFileSync(`${folder}/${name}.key`), cert: readFileSync(`${folder}/${name}.pem`) });
const certificates = { none: {}, trusted: of('trusted'), other: of('other') };
const ca = readFileSync(`${folder}/trusted.pem`);

async function startNode(maxVersion) {
  const options = { ...of('server'), ca, requestCert: true, rejectUnauthorized: true, maxVersion };
  const server = https.createServer(options, (_, response) => response.end('ok')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

async function startOpenssl(version) {
  const trust = ['-CAfile', `${folder}/trusted.pem`, '-Verify', '1', '-verify_return_error'];
  const own = ['-key', `${folder}/server.key`, '-cert', `${folder}/server.pem`];
  const args = ['s_server', '-accept', '127.0.0.1:0', '-www', version, ...own, ...trust];
  const child = spawn('openssl', args, { stdio: ['pipe', 'pipe', 'ignore'] });
  process.once('exit', () => child.kill());
  for await (const chunk of child.stdout) {
    const [, port] = /ACCEPT .*:(\d+)/.exec(chunk) ?? [];
    if (port) return Number(port);
  }
}

const send = (port, certificate) =>
  new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, rejectUnauthorized: false, agent: false, ...certificate };
    https
      .get(options, (response) => resolve(response.resume().statusCode))
      .on('error', ({ code, message }) => resolve(code === 'EPROTO' ? /alert [a-z ]+/.exec(message)[0] : code));
  });

const servers = {
  'Node, TLS 1.2': () => startNode('TLSv1.2'),
  'Node, TLS 1.3': () => startNode('TLSv1.3'),
  'OpenSSL, TLS 1.2': () => startOpenssl('-tls1_2'),
  'OpenSSL, TLS 1.3': () => startOpenssl('-tls1_3'),
};
const row = (...cells) => cells.map((cell) => `${cell}`.padEnd(42)).join('').trimEnd();
const names = Object.keys(certificates);
console.log(`${''.padEnd(18)}${row(...names)}`);
for (const [server, start] of Object.entries(servers)) {
  const port = await start();
  const cells = [];
  for (const name of names) cells.push(await send(port, certificates[name]));
  console.log(`${server.padEnd(18)}${row(...cells)}`);
}
process.exit();
END

measure() { "$node" "$folder/clients.js" "$folder"; }
check
