import { expect, test } from '@jest/globals';
import DataLoader from 'dataloader';
import { Lane } from '../../src/admission/lane.ts';

/*
 * A turn of the lane has four steps: the work, its microtasks, what runs in nextTick, and its microtasks. DataLoader does not
 * promise when it calls its batch function. If it does so later, a batch is no longer part of the turn that loads, and its time
 * is not measured.
 */

/** Calls `work` in a turn, and resolves to what happened, in order, up to the end of the turn. */
async function turnOf(happened: string[], work: () => void): Promise<string[]> {
  const lane = new Lane();
  lane.turn('caller', 1);
  work();
  await lane.turn('another caller', 2);
  return [...happened, 'end of the turn'];
}

const loaderInto = (happened: string[]) =>
  new DataLoader<number, number>(async (keys) => {
    happened.push(`batch ${keys}`);
    return keys;
  });

test('DataLoader calls its batch function within the turn that loads, with all that this turn loads', async () => {
  const happened: string[] = [];
  const loader = loaderInto(happened);
  const turn = await turnOf(happened, () => {
    void loader.load(1);
    void Promise.resolve().then(() => loader.load(2));
    void Promise.resolve()
      .then(() => {})
      .then(() => loader.load(3));
  });
  expect(turn).toEqual(['batch 1,2,3', 'end of the turn']);
});

test('what continues when DataLoader has responded is part of the turn, too', async () => {
  const happened: string[] = [];
  const loader = loaderInto(happened);
  const turn = await turnOf(happened, () => {
    void loader.load(1).then((value) => happened.push(`loaded ${value}`));
  });
  expect(turn).toEqual(['batch 1', 'loaded 1', 'end of the turn']);
});
