import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { startProcess } from '../../../testkit/process.ts';

test('the example prints what its comments say', async () => {
  const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, example = ''] = /^```ts\n(.*?)^```/ms.exec(page) ?? [];
  const printed = [...example.matchAll(/^console\.log.* \/\/ (.*)$/gm)].map(([, text]) => text);
  const { exited, lines, errorText } = startProcess([
    '--input-type=module-typescript',
    '--eval',
    example,
  ]);
  expect([(await exited).code, errorText()]).toEqual([0, '']);
  expect(lines).toEqual(printed);
  expect(example.trim().split('\n').length).toBeLessThanOrEqual(22);
});
