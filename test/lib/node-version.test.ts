import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { OLDEST_NODE } from '../../src/lib/node-version.ts';
import { startProcess } from '../../testkit/process.ts';

test('an older Node ends with one line that names the version it needs', async () => {
  const older = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '22.18.0' } })`;
  const child = startProcess(['--import', older, 'src/main.ts']);
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.errorText()).toBe('The gateway needs Node 24 or newer. This is 22.18.0.\n');
});

test('package.json requires the same version', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({ engines: { node: `>=${OLDEST_NODE}` } });
});
