import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { settleDocument } from '../packages/client/src/settle-document.ts';
import { logMessages, requiredByAction } from './promises.ts';

/*
 * `node deploy/record-api.ts <version>` writes what this version promises to test/fixtures/releases: the schema, the types of
 * the client package with samples of their use, the document that settles a key, which arguments each workflow action
 * requires, and the messages of the log. Later versions of the same major version are compared with it
 * (test/docs/releases.test.ts). The release runs it.
 */

const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('which version?');

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}test/fixtures/releases/${version}`;
mkdirSync(`${folder}/samples`, { recursive: true });
copyFileSync(`${root}schema.client.graphql`, `${folder}/schema.graphql`);
writeFileSync(`${folder}/settle-document.graphql`, `${settleDocument}\n`);
const promises = { requiredByAction: requiredByAction(), logMessages: logMessages() };
writeFileSync(`${folder}/promises.json`, `${JSON.stringify(promises, null, 2)}\n`);
for (const name of ['fetch', 'first-mutation', 'read-field', 'operation']) {
  copyFileSync(`${root}packages/client/examples/${name}.ts`, `${folder}/samples/${name}.ts`);
}
const emit = ['--emitDeclarationOnly', '--outDir', `${folder}/client`];
const tsc = [`${root}node_modules/typescript/bin/tsc`, '--project', `${root}packages/client`];
execFileSync(process.execPath, [...tsc, ...emit], { stdio: 'inherit' });
