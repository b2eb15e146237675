#!/usr/bin/env bash
# SDKs of well-known services send a POST again by themselves, with their defaults, if the connection is closed before the response. Then
# the call succeeds, and nothing shows the repeat. So Elasticsearch gets the same document up to four times (without an id in the call, it
# stores each one), an issue may be created four times, and one INCR may count six times. Only Stripe gets an idempotency key.
#
# How to read the table: how often the POST of one call arrives, and whether the call succeeds. "closed": the server reads the first one
# and closes the connection without a response. "always": it does so with each one. "503": it answers each one with 503. "the same id":
# the header with an id that the arrivals of one call have in common.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                  closed     always     503        the same id
#| Elasticsearch 9.5.1, index       2 done     4 error    4 error    none
#| OpenSearch 3.9.0, index          2 done     4 error    4 error    none
#| Octokit 5.0.5, issues.create     2 done     4 error    4 error    none
#| Typesense 3.1.0, create          2 done     2 error    2 error    none
#| Upstash Redis 1.39.0, incr       2 done     6 error    1 error    none
#| AWS SQS 3.1175.0, SendMessage    2 done     3 error    3 error    amz-sdk-invocation-id
#| Azure core-rest-pipeline 1.25.1  2 done     4 error    4 error    x-ms-client-request-id
#| Stripe 23.1.0, charges.create    2 done     3 error    3 error    idempotency-key
#| Notion 5.26.0, pages.create      1 error    1 error    1 error    none
#| Meilisearch 0.62.0, addDocuments 1 error    1 error    1 error    none
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @elastic/elasticsearch@9.5.1 @opensearch-project/opensearch@3.9.0 octokit@5.0.5 @upstash/redis@1.39.0 \
  @aws-sdk/client-sqs@3.1175.0 @azure/core-rest-pipeline@1.25.1 stripe@23.1.0 @notionhq/client@5.26.0 meilisearch@0.62.0 \
  typesense@3.1.0

cat > "$folder/sdks.js" <<'END'
import { hash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { createDefaultHttpClient, createPipelineFromOptions, createPipelineRequest } from '@azure/core-rest-pipeline';
import { Client as Elasticsearch } from '@elastic/elasticsearch';
import { Client as Notion } from '@notionhq/client';
import { Client as OpenSearch } from '@opensearch-project/opensearch';
import { Redis } from '@upstash/redis';
import { Meilisearch } from 'meilisearch';
import { Octokit } from 'octokit';
import Stripe from 'stripe';
import Typesense from 'typesense';

const arrivals = new Map();

// The name of a case is in the path, the host, or the body: `CASE-NUMBER-`.
const server = http.createServer(async (request, response) => {
  const body = await text(request);
  const [name, how] = /(closed|always|503)-\d+-/.exec(`${request.url} ${request.headers['stripe-account']} ${body}`) ?? [];
  const all = arrivals.get(name) ?? [];
  arrivals.set(name, [...all, request.headers]);
  if (how === 'always' || (how === 'closed' && all.length === 0)) return request.socket.destroy();
  response.writeHead(how === '503' ? 503 : 200, { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' });
  const result = body.startsWith('[[') ? [{ result: 1 }] : { MD5OfMessageBody: hash('md5', name) };
  response.end(JSON.stringify(how === '503' ? { error: { message: 'no' } } : result));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address();
const origin = `http://127.0.0.1:${port}`;

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const calls = {
  'Elasticsearch 9.5.1, index': (url) => new Elasticsearch({ node: url }).index({ index: 'a', document: {} }),
  'OpenSearch 3.9.0, index': (url) => new OpenSearch({ node: url }).index({ index: 'a', body: {} }),
  'Octokit 5.0.5, issues.create': (baseUrl) =>
    new Octokit({ baseUrl, log: silent }).rest.issues.create({ owner: 'a', repo: 'b', title: 'c' }),
  'Typesense 3.1.0, create': (_, name) => {
    const nodes = [{ host: '127.0.0.1', port, protocol: 'http' }];
    return new Typesense.Client({ nodes, apiKey: 'a', logLevel: 'silent' }).collections(name).documents().create({});
  },
  'Upstash Redis 1.39.0, incr': (url) => new Redis({ url, token: 'a' }).incr('a'),
  'AWS SQS 3.1175.0, SendMessage': (_, name) =>
    new SQSClient({ region: 'a', endpoint: origin, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } }).send(
      new SendMessageCommand({ QueueUrl: `${origin}/a`, MessageBody: name }),
    ),
  'Azure core-rest-pipeline 1.25.1': async (url) => {
    const request = createPipelineRequest({ url, method: 'POST', body: '{}', allowInsecureConnection: true });
    const { status } = await createPipelineFromOptions({}).sendRequest(createDefaultHttpClient(), request);
    if (status !== 200) throw new Error('no success');
  },
  'Stripe 23.1.0, charges.create': (_, name) =>
    new Stripe('sk_a', { host: '127.0.0.1', port, protocol: 'http' }).charges.create(
      { amount: 1, currency: 'eur' },
      { stripeAccount: name },
    ),
  'Notion 5.26.0, pages.create': (baseUrl) =>
    new Notion({ auth: 'a', baseUrl, logLevel: 'error' }).pages.create({ parent: { page_id: 'a' }, properties: {} }),
  'Meilisearch 0.62.0, addDocuments': (host) => new Meilisearch({ host }).index('a').addDocuments([{}]),
};

const isId = /^\S*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function call(name, how) {
  const id = `${how}-${Object.keys(calls).indexOf(name)}-`;
  const result = await calls[name](`${origin}/${id}`, id).then(
    () => 'done',
    () => 'error',
  );
  const [first, ...others] = arrivals.get(id);
  const common = Object.keys(first).filter((key) => isId.test(first[key]) && others.every((other) => other[key] === first[key]));
  return { cell: `${others.length + 1} ${result}`.padEnd(11), common };
}

console.log(`${''.padEnd(33)}closed     always     503        the same id`);
const rows = Object.keys(calls).map(async (name) => {
  const [first, ...others] = await Promise.all(['closed', 'always', '503'].map((how) => call(name, how)));
  return `${name.padEnd(33)}${[first, ...others].map(({ cell }) => cell).join('')}${first.common.join(', ') || 'none'}`;
});
for (const row of await Promise.all(rows)) console.log(row);
process.exit();
END

measure() { timeout 120 "$node" "$folder/sdks.js" 2> /dev/null; }
check
