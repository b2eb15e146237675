import base from './jest.config.js';

/** @type {import('jest').Config} The tests that execute GraphQL, with each query compiled at its first execution. */
export default {
  ...base,
  moduleNameMapper: { '/compile-threshold\\.ts$': '<rootDir>/test/support/compile-at-once.ts' },
  testMatch: [
    '<rootDir>/test/(examples|federation|graphql|resolvers)/**/*.test.ts',
    '<rootDir>/test/attack/(isolation|long-texts|operations).test.ts',
    '<rootDir>/test/telemetry/metrics.test.ts',
  ],
};
