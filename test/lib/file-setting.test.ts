import { rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readFileSetting, watchFiles } from '../../src/lib/file-setting.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { readFilesOften } from '../support/fast-timeouts.ts';
import { createLogRecorder } from '../support/log-recorder.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Replaces a file at once. A file that is written in place is empty for a moment. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** Watches two files with numbers, of which the second must not be less. */
async function watchRange() {
  readFilesOften();
  const folder = await temporaryFolder();
  const paths = { low: join(folder, 'low'), high: join(folder, 'high') };
  await Promise.all([writeFile(paths.low, '1'), writeFile(paths.high, '2')]);
  const parse = (text: string) => {
    if (!/^\d+$/.test(text)) throw new Error('not a number');
    return Number(text);
  };
  const log = createLogRecorder();
  const applied: { low: number; high: number }[] = [];
  const settings = {
    low: readFileSetting(paths.low, parse),
    high: readFileSetting(paths.high, parse),
  };
  const apply = (range: { low: number; high: number }) => {
    if (range.low > range.high) throw new Error('low must not be above high');
    applied.push(range);
  };
  const states: boolean[] = [];
  const note = (isApplied: boolean) => states.push(isApplied);
  closeAfterTest(watchFiles(settings, apply, pino({ base: null }, { write: log.add }), note));
  const faults = () => log.lines.flatMap(({ fault }) => (fault === undefined ? [] : [fault]));
  return { folder, paths, applied, log, faults, states };
}

const applied = { msg: 'changed files applied' };

test('a file that replaces another by a symbolic link is applied', async () => {
  const { folder, paths, applied: ranges, log } = await watchRange();
  await writeFile(join(folder, 'new'), '3');
  await symlink('new', join(folder, 'link'));
  await rename(join(folder, 'link'), paths.high);
  expect(await log.line(applied)).toMatchObject({ files: [paths.low, paths.high] });
  expect(ranges).toEqual([{ low: 1, high: 3 }]);
});

test.each([
  ['cannot be parsed', 'x', 'not a number'],
  ['does not fit the other', '5', 'low must not be above high'],
])('a file that %s is logged once, and both apply when they fit', async (_, text, fault) => {
  const { paths, applied: ranges, log, faults } = await watchRange();
  await replace(paths.low, text);
  await log.line({ msg: 'cannot apply changed files', fault });
  expect(ranges).toEqual([]);
  await replace(paths.low, '5');
  await replace(paths.high, '6');
  await log.line(applied);
  expect(ranges).toEqual([{ low: 5, high: 6 }]);
  expect(faults().filter((found) => found === fault)).toHaveLength(1);
});

test('a file that is missing for a while is in use again, with the same content', async () => {
  const { folder, paths, applied: ranges, log, faults, states } = await watchRange();
  await rename(paths.low, join(folder, 'away'));
  await log.line({ msg: 'cannot apply changed files' });
  await rename(join(folder, 'away'), paths.low);
  await log.line(applied);
  expect(ranges).toEqual([{ low: 1, high: 2 }]);
  expect(states).toEqual([true, false, true]);
  expect(faults()).toEqual([expect.stringContaining(paths.low)]);
});
