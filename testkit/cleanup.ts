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

/** Closes what is open without a test: the scenarios of stress/ call it at their end. */
export async function closeAll(): Promise<void> {
  for (const close of ofFile.splice(0)) await close();
}

if (process.env.JEST_WORKER_ID !== undefined) {
  const { afterAll, afterEach, beforeEach } = await import('@jest/globals');
  beforeEach(() => {
    current = ofTest;
  });
  afterEach(async () => {
    for (const close of ofTest.splice(0)) await close();
    current = ofFile;
  });
  afterAll(closeAll);
}
