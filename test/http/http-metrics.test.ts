import { expect, test } from '@jest/globals';
import { shareRendering } from '../../src/http/http-metrics.ts';

test('all that ask before the metrics are rendered share one rendering, and later ones get a new one', async () => {
  let renderings = 0;
  const render = shareRendering(async () => String(++renderings));
  expect(await Promise.all([render(), render()])).toEqual(['1', '1']);
  const first = render();
  await first;
  expect(await Promise.all([first, render(), render()])).toEqual(['2', '3', '3']);
});

test('a rendering that fails does not keep the next one', async () => {
  let renderings = 0;
  const render = shareRendering(async () => {
    renderings += 1;
    if (renderings === 1) throw new Error('a bug');
    return 'rendered';
  });
  await expect(render()).rejects.toThrow('a bug');
  expect(await render()).toBe('rendered');
});
