/** Packages whose clock or timers a test replaces. Each test file loads them anew, and the packages of Jest. */
const own = '(@jest|jest-.*|expect|jose|lru-cache)/';

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/native-environment.js',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, sourceMaps: 'inline' },
    ],
    '/node_modules/': '<rootDir>/test/support/native-package.js',
  },
  transformIgnorePatterns: [`/node_modules/${own}`],
  setupFilesAfterEnv: ['<rootDir>/test/support/setup.ts'],
  // Generous, because it only ends a test that hangs: a busy machine must not fail one.
  testTimeout: 60_000,
  // More than the cores of a small machine: much of a test is waiting for timers and processes.
  maxWorkers: 3,
};
