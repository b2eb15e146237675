import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { startTestGateway } from '../testkit/gateway.ts';
import { testIssuer } from '../testkit/issuer.ts';
import { startStub } from '../testkit/service.ts';

const run = promisify(execFile);
const schema = 'schema.client.graphql';
const packages = [
  ...['@apollo/client@4.3.8', 'rxjs@7.8.2', 'graphql@16.15.0'],
  ...['relay-runtime@21.0.1', 'relay-compiler@21.0.1'],
];

const query = `query codesQuery {
  glCodes(target: EMAIL, project: "north") { ... on GlCodeList { codes { id code name } } }
}`;

/** Reads the list through the cache of each client, and prints the rows that an app then has. */
const reader = `
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import relay from 'relay-runtime';
import artifact from './__generated__/codesQuery.graphql.js';
const [url, token] = process.argv.slice(2);
const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
const rowsOf = ({ glCodes }) => glCodes.codes.map(({ id, code, name }) => ({ id, code, name }));

const cache = new InMemoryCache();
const query = gql(${JSON.stringify(query)});
await new ApolloClient({ link: new HttpLink({ uri: url, headers }), cache }).query({ query });

const network = relay.Network.create(async ({ text }) => {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query: text }) });
  return response.json();
});
const environment = new relay.Environment({ network, store: new relay.Store(new relay.RecordSource()) });
await relay.fetchQuery(environment, artifact, {}).toPromise();
const { data } = environment.lookup(relay.createOperationDescriptor(artifact, {}).fragment);

console.log(JSON.stringify({ apollo: rowsOf(cache.readQuery({ query })), relay: rowsOf(data) }));
`;

let cwd: string;

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'ledger-caches-'));
  closeAfterTest(() => rm(cwd, { recursive: true }));
  const config = {
    src: '.',
    schema,
    language: 'javascript',
    eagerEsModules: true,
    excludes: ['**/node_modules/**'],
  };
  await writeFile(join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
  await writeFile(join(cwd, 'relay.config.json'), JSON.stringify(config));
  await writeFile(join(cwd, 'codes.js'), `graphql\`${query}\`;`);
  await writeFile(join(cwd, 'reader.js'), reader);
  await copyFile(fileURLToPath(new URL(`../${schema}`, import.meta.url)), join(cwd, schema));
  await run('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd });
  await run('npx', ['relay-compiler'], { cwd });
}, 300_000);

test('in the caches of Apollo Client and Relay, each row of a list keeps its own name', async () => {
  const rows = [
    ['2493', 'Interest'],
    ['2493', 'Dividends'],
    ['', 'Income'],
    ['', 'Costs'],
    [null, 'Other'],
    ['30', 'Rent'],
  ];
  const service = await startStub((response) => {
    const list = rows.map(([Code, Name]) => ({ Code, Name, Value: '', Hide: 0 }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ service_status: { status: 0 }, list }));
  });
  const gateway = await startTestGateway(service);
  const token = await (await testIssuer()).token();

  const { stdout } = await run(process.execPath, ['reader.js', `${gateway.url}/graphql`, token], {
    cwd,
  });

  const expected = rows.map(([code, name]) => ({
    id: code === '30' ? '5/north/30' : null,
    code,
    name,
  }));
  expect(JSON.parse(stdout)).toEqual({ apollo: expected, relay: expected });
});
