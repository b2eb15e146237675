import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { shareRendering } from '../../src/http/http-metrics.ts';
import { createLane } from '../support/admission.ts';

test('all that ask before the metrics are rendered share one rendering, and later ones get a new one', async () => {
  let renderings = 0;
  const render = shareRendering(async () => String(++renderings), createLane());
  expect(await Promise.all([render(), render()])).toEqual(['1', '1']);
  expect(await Promise.all([render(), render()])).toEqual(['2', '2']);
});

test('the metrics are rendered when it is their turn', async () => {
  const turn = Promise.withResolvers<void>();
  let renderings = 0;
  const render = shareRendering(async () => String(++renderings), { turn: () => turn.promise });
  const first = render();
  await immediate();
  expect(renderings).toBe(0);
  const second = render();
  turn.resolve();
  expect(await Promise.all([first, second])).toEqual(['1', '1']);
});

test('a rendering that fails does not keep the next one', async () => {
  let renderings = 0;
  const render = shareRendering(async () => {
    renderings += 1;
    if (renderings === 1) throw new Error('a bug');
    return 'rendered';
  }, createLane());
  await expect(render()).rejects.toThrow('a bug');
  expect(await render()).toBe('rendered');
});
