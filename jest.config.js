import { existsSync, statfsSync } from 'node:fs';

const root = import.meta.dirname;
const support = `${root}/test/support`;
const native = `${support}/native-module.js`;

// Databases of tests do not have to outlast the machine, so their files need no disk.
const memory = '/dev/shm';
if (existsSync(memory) && hasRoom(statfsSync(memory))) process.env.TMPDIR ??= memory;

/** Whether a file system has 1 GiB free. In a container, the whole of /dev/shm may be 64 MiB. */
function hasRoom({ bavail, bsize }) {
  return bavail * bsize > 2 ** 30;
}

/** @type {import('jest').Config} */
export default {
  testEnvironment: `${support}/native-environment.js`,
  roots: ['test', 'packages/at-most-once/test', 'packages/client/test'].map(
    (path) => `${root}/${path}`,
  ),
  testMatch: ['**/*.test.ts'],
  testSequencer: `${support}/longest-first.js`,
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    [`^${RegExp.escape(root)}/(dev|src|packages/[^/]+/src)/.*\\.ts$`]: native,
    '/node_modules/': native,
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, sourceMaps: 'inline' },
    ],
  },
  // Jest changes the state of its own packages for each test file.
  transformIgnorePatterns: ['/node_modules/(@jest|jest-.*|expect)/'],
  // Fake timers replace those of Node itself, which does not work without these.
  fakeTimers: { doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] },
  setupFilesAfterEnv: [`${support}/setup.ts`],
  // The tests of a file run in random order. `--seed` repeats one.
  randomize: true,
  showSeed: true,
  // Generous, because it only ends a test that hangs: a busy machine must not fail one.
  testTimeout: 60_000,
  // A busy machine takes long to end a worker. What keeps one running fails its test file (native-environment.js).
  workerGracefulExitTimeout: 30_000,
  // More than the cores of a small machine: much of a test is waiting for timers and processes.
  maxWorkers: 5,
};
