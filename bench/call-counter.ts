import inspector from 'node:inspector';
import { fileURLToPath } from 'node:url';
import { promiseHooks } from 'node:v8';

/**
 * Loaded into the process of a server with `--import`. The first message of the parent process starts the counting, the
 * next one ends it and is answered with a `Counted`, and so on. Each message is answered.
 */
export type Counted = {
  /** The functions of the server, without those of packages, and how often each was entered. `offset` is in characters. */
  functions: { file: string; name: string; offset: number; count: number }[];
  /** All promises that were created, also by packages and Node. */
  promises: number;
};

const session = new inspector.Session();
session.connect();
session.post('Profiler.enable');

let promises = 0;
let stopCountingPromises: (() => void) | undefined;

function start(): void {
  // With `detailed`, functions that were compiled later would count blocks: an await would then not count.
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  promises = 0;
  stopCountingPromises = promiseHooks.onInit(() => {
    promises += 1;
  }) as () => void;
}

function end(): Counted {
  stopCountingPromises?.();
  stopCountingPromises = undefined;
  const functions: Counted['functions'] = [];
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw error;
    for (const { url, functions: all } of coverage.result) {
      if (!url.startsWith('file:') || url.includes('/node_modules/')) continue;
      for (const { functionName: name, ranges } of all) {
        const [{ startOffset: offset, count } = { startOffset: 0, count: 0 }] = ranges;
        if (count > 0) functions.push({ file: fileURLToPath(url), name, offset, count });
      }
    }
  });
  session.post('Profiler.stopPreciseCoverage');
  return { functions, promises };
}

process.on('message', () => {
  if (stopCountingPromises) {
    process.send?.(end());
    return;
  }
  start();
  process.send?.('started');
});
process.channel?.unref();
