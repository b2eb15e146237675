import { expect, test } from '@jest/globals';
import { WriteCount } from '../../src/policy/write-count.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';

test('a process counts by itself if the count in the store cannot be created', async () => {
  const recorder = createLogRecorder();
  const count = new WriteCount(recorder.createLogger(), () => Promise.reject(new Error('EMFILE')));
  expect(await count.count('key')).toMatchObject({ writes: 1 });
  expect(await count.count('key')).toMatchObject({ writes: 2 });
  expect(recorder.lines).toMatchObject([{ fault: 'EMFILE' }]);
});
