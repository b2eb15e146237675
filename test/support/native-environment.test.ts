import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startProcess } from '../../testkit/process.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';

test.each([
  ['passes', 1, 0],
  ['fails', 2, 1],
])('a single test file that %s ends with the exit code of Jest', async (_, actual, code) => {
  const folder = await temporaryFolder();
  const text = `test('one', () => expect(${actual}).toBe(1));`;
  await writeFile(join(folder, 'one.test.ts'), text);
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--roots', folder];
  const child = startProcess([...jest, '--runInBand']);
  expect(await child.exited).toEqual({ code, signal: null });
  expect(child.errorText()).toContain('Tests:');
});
