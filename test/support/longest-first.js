import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/** Test files that start processes, which take longest. */
const startsProcesses = /testkit\/(client-faults|gateway-process|postgres|process|redis)\.ts/;

/** Runs the longest test files first, so that none is left alone at the end. Jest does so only if it knows an earlier run. */
export default class LongestFirst extends Sequencer {
  /** How long a test file took, or may take, in milliseconds. */
  time(test) {
    return super.time(test) ?? estimate(readFileSync(test.path, 'utf8'));
  }
}

function estimate(text) {
  return text.length / 5 + (startsProcesses.test(text) ? 10_000 : 0);
}
