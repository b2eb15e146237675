import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { auditLine, auditLineSchema } from '../../src/audit/audit-line.ts';
import { auditLinesIn } from '../../testkit/audit-file.ts';

/*
 * The lines of the audit record are kept for years, so what a release wrote is valid in later ones. `npm run release` adds the
 * lines of the new version.
 */

const folder = new URL('../fixtures/audit-lines/', import.meta.url);
const fixtures = readdirSync(folder);

test('each release after 1.0.0 has left its lines', () => {
  const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
  const releases = [...changelog.matchAll(/^## (\d+\.\d+\.\d+) /gm)].map(([, name]) => `${name}`);
  const later = releases.slice(0, releases.indexOf('1.0.0')).map((name) => `${name}.jsonl`);
  expect(fixtures).toEqual(expect.arrayContaining(later));
});

test.each(fixtures)('the lines of %s match the published schema, and can be read', (name) => {
  const lines = auditLinesIn(new URL(name, folder).pathname);
  expect(lines.length).toBeGreaterThan(100);
  for (const line of lines) expect(auditLine.parse(line)).toEqual(line);
});

test('the published schema is that of this version (npm run audit-schema)', () => {
  const url = new URL('../../docs/reference/audit-line.schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(url, 'utf8'))).toEqual(auditLineSchema());
});

test('a line of a later version may have further fields, but none may be missing', () => {
  const [line = {}] = auditLinesIn(new URL('unreleased.jsonl', folder).pathname);
  expect(auditLine.safeParse({ ...line, later: true }).success).toBe(true);
  expect(auditLine.safeParse({ ...line, requestId: undefined }).success).toBe(false);
});
