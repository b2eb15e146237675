import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * npm runs this between setting the version and committing it (`npm run release`). It gives the unreleased entries of the
 * CHANGELOG the version and the date, and sets the version of the client package, in the lockfile too, of the label of
 * the image, and of the Helm chart. What this version records for outcomes, and in the audit record, become
 * fixtures, which later versions must read. So do the schema and the types of the client package, which later versions must
 * not break.
 */
const version = process.env.npm_package_version;
if (version === undefined) throw new Error('npm version starts this');
const date = new Date().toISOString().slice(0, 10);

/** What is replaced in each file. */
const replacements: Record<string, [pattern: RegExp, by: string]> = {
  'CHANGELOG.md': [/^## Unreleased\n\n(?=###)/m, `## Unreleased\n\n## ${version} - ${date}\n\n`],
  'packages/client/package.json': [/("version": )"[^"]*"/, `$1"${version}"`],
  'package-lock.json': [
    /("name": "@ledger-gateway\/client",\s+"version": )"[^"]*"/,
    `$1"${version}"`,
  ],
  'deploy/helm/Chart.yaml': [
    /^version: .*\nappVersion: .*$/m,
    `version: ${version}\nappVersion: "${version}"`,
  ],
  Dockerfile: [/(image\.version=)\S+/, `$1${version}`],
};
for (const [file, [pattern, by]] of Object.entries(replacements)) {
  const url = new URL(`../${file}`, import.meta.url);
  const text = readFileSync(url, 'utf8');
  if (!pattern.test(text)) throw new Error(`${file} has no ${pattern}`);
  writeFileSync(url, text.replace(pattern, by));
}
for (const script of ['deploy/record-outcomes.ts', 'deploy/record-api.ts']) {
  execFileSync(process.execPath, [script, version], { stdio: 'inherit' });
}
