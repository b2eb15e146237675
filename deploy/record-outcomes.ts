import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { startIssuer } from '../dev/issuer.ts';
import { startReferenceService } from '../dev/service.ts';
import { startGateway } from '../src/gateway.ts';
import { ledger } from '../src/resolvers/ledger.ts';
import { closeAll } from '../testkit/cleanup.ts';
import { readConfig } from '../testkit/config.ts';
import { postTo, writes } from '../testkit/graphql-operation.ts';
import { json, type Reply, reply, startStub } from '../testkit/service.ts';
import { temporaryFolder } from '../testkit/temporary-folder.ts';

/*
 * `node deploy/record-outcomes.ts <version>` writes what this version records for the outcomes of each write, the
 * document of the write, and what `settleWrites` returns for it, to test/fixtures/recorded-outcomes, and the lines of
 * the audit record to test/fixtures/audit-lines. Each later version must read them. The release runs it.
 */

const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('which version?');

const root = new URL('../', import.meta.url);
const folder = await temporaryFolder();
const auditFile = join(folder, 'audit.log');
const issuer = await startIssuer({ issuer: 'https://issuer.example' });
const authorization = `Bearer ${await issuer.token({ sub: 'ada' })}`;

/** Responses of the service that have nothing to do with the operation. */
const others: Record<string, Reply> = {
  'status-0': json('{"status":0}'),
  'status-1': json('{"status":1,"invoice_id":9007199254740993,"message":"é"}'),
  'status-2': json('{"status":2,"invoice_id":7,"message":null}'),
  'status-3': json('{"status":3,"message":"not permitted"}'),
  'status-77': json('{"status":77}'),
  'status-missing': json('{"message":"none"}'),
  invalid: json('[]'),
  failed: reply(500),
  lost: (response) => response.socket?.resetAndDestroy(),
  late: () => {},
};

/** Starts a gateway in front of a service, with a file of its own for keys. */
async function start(service: string, name: string) {
  const config = readConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    UPSTREAM_BASE_URL: service,
    UPSTREAM_TIMEOUT_MS: '2000',
    JWT_JWKS_URL: issuer.jwksUrl,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
    SHUTDOWN_DELAY_MS: '0',
    IDEMPOTENCY_STORE: `file:${join(folder, name)}`,
    AUDIT: `file:${auditFile}`,
    AUDIT_SUBJECT: 'both',
    LOG_LEVEL: 'silent',
  });
  const gateway = await startGateway(config, pino({ level: 'silent' }));
  const send = async (query: string, variables: object, key?: string) => {
    const keyed = key && { 'idempotency-key': key, 'idempotency-key-age': '0' };
    const headers = { authorization, ...keyed };
    const { text } = await postTo(gateway.url, { query, variables }, headers);
    return JSON.parse(text).data;
  };
  return { gateway, send };
}

const exampleOf = (name: string) =>
  readFileSync(new URL(`examples/operations/${name}.graphql`, root), 'utf8');
const settling = exampleOf('SettleWrites');

const operations = ledger.operations.filter(({ effect }) => effect === 'write');
const documents = Object.fromEntries(
  operations.map(({ name, field, action }) => {
    const example = () => exampleOf(`${field[0]?.toUpperCase()}${field.slice(1)}`);
    return [name, action === undefined ? example() : `mutation { ${writes[name]} }`];
  }),
);

/** Sends each write with a key of its own, and returns what the store keeps, and what settling returns for it. */
async function record(service: string, what: string) {
  const { gateway, send } = await start(service, what);
  const answers: object[] = [];
  for (const [name, document] of Object.entries(documents)) {
    const key = `${name}-${what}`;
    await send(document, {}, key);
    const { settleWrites } = await send(settling, { idempotencyKey: key });
    answers.push({ key, writes: settleWrites.writes });
  }
  await gateway.close();
  const database = new DatabaseSync(join(folder, what), { readOnly: true });
  const rows = database.prepare('SELECT text FROM record ORDER BY id').all();
  database.close();
  const texts = rows.map(({ text }) => JSON.parse(String(text)));
  const [completeness, ...records] = texts.toSorted(
    (a, b) => Number('writes' in a) - Number('writes' in b),
  );
  const operationsOf = records.map(({ writes: [write] }) => write.operation);
  if (operationsOf.join() !== operations.map(({ name }) => name).join())
    throw new Error(`not all writes: ${operationsOf}`);
  return { completeness, keys: answers.map((answer, n) => ({ ...answer, record: records[n] })) };
}

let respond: Reply = () => {};
const stub = await startStub((...exchange) => respond(...exchange));
const reference = await startReferenceService({ issuerKeys: issuer.jwks });

const { completeness, keys } = await record(reference.url, 'success');
for (const [name, next] of Object.entries(others)) {
  respond = next;
  keys.push(...(await record(stub.url, name)).keys);
}
const file = new URL(`test/fixtures/recorded-outcomes/${version}.json`, root);
const lines = keys.map((key) => JSON.stringify(key)).join(',\n');
const head = JSON.stringify({ completeness, documents }).slice(0, -1);
writeFileSync(file, `${head},"keys":[\n${lines}\n]}\n`);
copyFileSync(auditFile, new URL(`test/fixtures/audit-lines/${version}.jsonl`, root));

await Promise.all([reference.close(), issuer.close(), closeAll()]);
