import base from './jest.config.js';

/** @type {import('jest').Config} The same tests, with each query compiled at its first execution. */
export default {
  ...base,
  moduleNameMapper: { '/compile-threshold\\.ts$': '<rootDir>/test/support/compile-at-once.ts' },
  // These test helpers, stand-ins and whole processes: no GraphQL runs in the process of the tests.
  testPathIgnorePatterns: ['<rootDir>/test/(dev|lib|main)/'],
};
