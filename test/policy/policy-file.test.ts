import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readCommand } from '../../src/command-line.ts';
import { policyFileSchema } from '../../src/policy/policy-file.ts';
import { ledger } from '../../src/resolvers/ledger.ts';
import { environmentFor } from '../../testkit/environment.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';

/** What `--check-config` prints of a policy. */
async function check(text: string) {
  const file = await temporaryFile(text);
  const variables = { POLICY_FILE: file };
  const env = await environmentFor({ url: 'http://localhost/' }, variables);
  const command = await readCommand(['--check-config'], env);
  return 'text' in command && JSON.parse(command.text).POLICY_FILE;
}

const claims = { roles: ['a'] };

test('the examples of the pages about the policy and about a stop are policies', async () => {
  const page = ['reference/policy.md', 'how-to/freeze.md']
    .map((path) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8'))
    .join('\n');
  const blocks = [...page.matchAll(/^```json\n(.*?)^```/gms)].map(([, text = '']) => text);
  const examples = blocks.filter((text) => /^\{\s*"(operations|writes)"/.test(text));
  expect(examples).toHaveLength(3);
  for (const text of examples) expect(await check(text)).toHaveProperty('covers');
});

test('--check-config prints the hash of the file, and for each rule the operations that it covers', async () => {
  const text = JSON.stringify({
    operations: {
      saveApprovers: { claims, stopped: null, writesPerMinute: 3 },
      workflowAction: { claims },
      'workflowAction.UPGRADE_TO_HQ': { claims, writesPerMinute: 2 },
      glCodes: { claims },
    },
    writes: { stopped: null, claims, writesPerMinute: 60 },
  });
  const upgrade = 'workflowAction.UPGRADE_TO_HQ';
  const actions = ledger.operations.flatMap(({ action }) =>
    action && action !== 'UPGRADE_TO_HQ' ? [`workflowAction.${action}`] : [],
  );
  expect(await check(text)).toEqual({
    path: expect.any(String),
    sha256: hash('sha256', text),
    covers: {
      saveApprovers: {
        claims: ['saveApprovers'],
        stopped: ['saveApprovers'],
        writesPerMinute: ['saveApprovers'],
      },
      workflowAction: { claims: actions },
      [upgrade]: { claims: [upgrade], writesPerMinute: [upgrade] },
      glCodes: { claims: ['glCodes'] },
      // And further writes.
      writes: {
        claims: expect.arrayContaining(['uploadWorkflowCsv']),
        stopped: expect.arrayContaining(['uploadWorkflowCsv', ...actions, upgrade]),
        writesPerMinute: expect.arrayContaining(['uploadWorkflowCsv', ...actions]),
      },
    },
  });
  expect(await check('{}')).toMatchObject({ covers: {} });
  // Programs such as Notepad write a byte order mark. `sha256sum` counts it.
  expect(await check('\ufeff{}')).toMatchObject({ sha256: hash('sha256', '\ufeff{}'), covers: {} });
});

test.each([
  ['', 'is not JSON'],
  ['{\n  "writes": {"stopped": "x"},\n}', 'is not JSON (line 3 column 1)'],
  ['{"writes": {"stopped": tru}}', 'is not JSON'],
  ['{"writes": {"stopped": "M\ufffdller"}}', 'is not UTF-8'],
  ['[]', 'expected object'],
  ['{"operation": {}}', 'operation: is unknown. Did you mean operations?'],
  ['{"writes": {"stop": "x"}}', 'writes.stop: is unknown. Did you mean stopped?'],
  [
    '{"operations": {"saveAprovers": {}}}',
    'operations.saveAprovers: is unknown. Did you mean saveApprovers?',
  ],
  ['{"operations": {"workflowAction.UPGRADE": {}}}', 'Did you mean workflowAction.UPGRADE_TO_HQ?'],
  ['{"saveApprovers": {}}', 'saveApprovers: is a key of another object'],
  ['{"operations": {"writes": {}}}', 'operations.writes: is a key of another object'],
  ['{"operations": {"settleWrites": {}}}', 'operations.settleWrites: is unknown'],
  ['{"operations": {"__proto__": {}}}', 'has the key "__proto__"'],
  ['{"writes": {"claims": {"__proto__": ["a"]}}}', 'has the key "__proto__"'],
  ['{"operations": {"constructor": {}}}', 'operations.constructor: is unknown'],
  [
    '{"operations": {"glCodes": {"stopped": "x"}}}',
    'operations.glCodes.stopped: is for writes only',
  ],
  [
    '{"operations": {"glCodes": {"writesPerMinute": 1}}}',
    'operations.glCodes.writesPerMinute: is for writes only',
  ],
  ['{"writes": {"claims": {}}}', 'writes.claims: must not be empty'],
  ['{"writes": {"claims": {"roles": []}}}', 'writes.claims.roles: must not be empty'],
  ['{"writes": {"claims": {"roles": [""]}}}', 'writes.claims.roles[0]: must not be empty'],
  ['{"writes": {"claims": {"roles": "a"}}}', 'writes.claims.roles: Invalid input: expected array'],
  ['{"writes": {"claims": {"": ["a"]}}}', 'writes.claims'],
  ['{"writes": {"stopped": ""}}', 'writes.stopped: must not be empty'],
  ['{"writes": {"stopped": " \\n"}}', 'writes.stopped: must not be empty'],
  ['{"writes": {"stopped": true}}', 'writes.stopped: Invalid input: expected string'],
  ['{"writes": {"writesPerMinute": 0}}', 'writes.writesPerMinute'],
  ['{"writes": {"writesPerMinute": 1.5}}', 'writes.writesPerMinute'],
  ['{"writes": {"stopped": "x"}, "operations": {}, "writes": {}}', 'has the key "writes" twice'],
  ['{"writes": {"stopped": "x", "a": 1, "stopped": null}}', 'has the key "stopped" twice'],
])('%s is not valid: %s', async (text, fault) => {
  await expect(check(text)).rejects.toThrow(`POLICY_FILE must be a policy`);
  await expect(check(text)).rejects.toThrow(fault);
});

test('the published schema is that of this version (npm run policy-schema)', () => {
  const url = new URL('../../docs/reference/policy.schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(url, 'utf8'))).toEqual(policyFileSchema(ledger.operations));
});

test('all faults of a file are named at once', async () => {
  const text = '{"writes": {"stopped": ""}, "operations": {"save": {}, "glCodes": {"claims": {}}}}';
  await expect(check(text)).rejects.toThrow(
    /operations\.glCodes\.claims: .*operations\.save: .*writes\.stopped: /,
  );
});
