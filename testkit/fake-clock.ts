import { globSync } from 'node:fs';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { temporaryFile } from './temporary-folder.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');

/** Creates a clock for processes that start with its environment variables. It shows the time of the system until `set`. */
export async function createFakeClock() {
  if (library === undefined) throw new Error('libfaketime is missing: apt-get install faketime');
  const file = await temporaryFile('+0');
  await chmod(dirname(file), 0o755); // PostgreSQL, which is another user, reads it.
  return {
    env: {
      // Redis uses jemalloc, which does not work with libfaketime: libc before it is used instead.
      LD_PRELOAD: `${library}:libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: file,
      // Read at each use, so that all processes see a step at once.
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
    /** Steps the clock to so many seconds after the time of the system, or before it. */
    async set(offsetS: number): Promise<void> {
      await writeFile(`${file}.next`, offsetS < 0 ? `${offsetS}` : `+${offsetS}`);
      await rename(`${file}.next`, file); // A process reads the old text or the new one.
    },
  };
}
