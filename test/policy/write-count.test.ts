import { expect, test } from '@jest/globals';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { WriteCount } from '../../src/policy/write-count.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';

test('a process counts by itself if the count in the store cannot be created', async () => {
  const recorder = createLogRecorder();
  const count = new WriteCount(recorder.createLogger(), () => Promise.reject(new Error('EMFILE')));
  expect(await count.count('key')).toMatchObject({ writes: 1 });
  expect(await count.count('key')).toMatchObject({ writes: 2 });
  expect(recorder.lines).toMatchObject([{ fault: 'EMFILE' }]);
});

test('the writes of an iteration are counted together, and each has its own place in the count', async () => {
  const consumed: unknown[] = [];
  let writes = 5;
  const consume = async (key: string | number, more = 1) => {
    consumed.push([key, more]);
    writes += more;
    return new RateLimiterRes(0, 1000, writes, false);
  };
  const count = new WriteCount(createLogRecorder().createLogger(), async () => ({
    limiter: { consume },
    close() {},
  }));
  const counting = ['a', 'a', 'b', 'a'].map((key) => count.count(key));
  const counts = await Promise.all(counting);
  expect(counts.map((one) => one.writes)).toEqual([6, 7, 9, 8]);
  expect(await count.count('b')).toEqual({ writes: 10, endsInMs: 1000 });
  expect(consumed).toEqual([
    ['a', 3],
    ['b', 1],
    ['b', 1],
  ]);
});
