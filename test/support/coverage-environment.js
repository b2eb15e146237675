import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import NativeEnvironment from './native-environment.js';

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** Writes the block coverage of each test file into COVERAGE_FOLDER, for `npm run mutate`. */
export default class CoverageEnvironment extends NativeEnvironment {
  #testPath;

  constructor(config, context) {
    super(config, context);
    this.#testPath = context.testPath;
  }

  async setup() {
    await super.setup();
    takeCoverage(); // What earlier test files have executed.
  }

  async teardown() {
    const folder = process.env.COVERAGE_FOLDER;
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `${encodeURIComponent(this.#testPath)}.json`);
    writeFileSync(path, JSON.stringify(takeCoverage()));
    await super.teardown();
  }
}

/** The ranges of the functions of each file outside of packages, and how often each has been executed since the last time. */
function takeCoverage() {
  let files = {};
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw error;
    const own = coverage.result.filter(({ url }) => /^file:(?!.*\/node_modules\/)/.test(url));
    files = Object.fromEntries(
      own.map(({ url, functions }) => [url, functions.flatMap(({ ranges }) => ranges)]),
    );
  });
  return files;
}
