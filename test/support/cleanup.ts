import { afterAll, afterEach, beforeEach } from '@jest/globals';

type Close = () => unknown;

const ofFile: Close[] = [];
const ofTest: Close[] = [];
let current = ofFile;

/**
 * Calls `close` after the test or, if it is registered in `beforeAll`, after the last test. Calls run in
 * reverse order.
 */
export function closeAfterTest(close: Close): void {
  current.unshift(close);
}

beforeEach(() => {
  current = ofTest;
});

afterEach(async () => {
  for (const close of ofTest.splice(0)) await close();
  current = ofFile;
});

afterAll(async () => {
  for (const close of ofFile.splice(0)) await close();
});
