import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * The bytes that remain of 9,000 calls until the next full collection of garbage. One takes place before, which promotes
 * what lives long.
 */
export async function promotedBy(work: (n: number) => unknown): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const oldBytes = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')
      ?.space_used_size ?? 0;
  let before = 0;
  for (let n = 0; n < 10_000; n++) {
    await work(n);
    if (n % 500 === 0) collect({ type: n === 1000 ? 'major' : 'minor' });
    if (n === 1000) before = oldBytes();
  }
  return oldBytes() - before;
}
