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

/**
 * The ranges of the functions of each file outside of packages, and how often each has been executed since the last time.
 * The last script with the path of a file counts: the file itself is longer than what native-module.js replaces it by.
 */
function takeCoverage() {
  let files = {};
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw error;
    const scripts = coverage.result
      .filter(({ url }) => /^file:(?!.*\/node_modules\/)/.test(url))
      .map(({ url, functions }) => [url, functions.flatMap(({ ranges }) => ranges)]);
    const endOf = ([, ranges]) => Math.max(...ranges.map(({ endOffset }) => endOffset));
    files = Object.fromEntries(scripts.sort((one, other) => endOf(one) - endOf(other)));
  });
  return files;
}
