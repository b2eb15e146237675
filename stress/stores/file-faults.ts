import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import type { Harness, Row } from '../harness.ts';
import { type Stage, underLoad, whenBack } from './stage.ts';

/** A file on a disk that other files fill. */
export async function fillDisk(harness: Harness): Promise<Row[]> {
  const folder = await temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return []; // Not permitted here.
  }
  closeAfterTest(() => execFileSync('umount', ['-l', folder]));
  const filler = join(folder, 'filler');
  const store = `file:${join(folder, 'keys.db')}`;
  const fail = async (stage: Stage) => {
    execFileSync('sh', ['-c', `cat /dev/zero > ${filler} || true`], { stdio: 'ignore' });
    await sleep(2000);
    rmSync(filler);
    await whenBack(stage);
  };
  return underLoad(harness, 'file, disk full', { store, count: 1, fail });
}
