import base from './jest.config.js';

/** @type {import('jest').Config} The tests that execute GraphQL, with each query compiled at its first execution. */
export default {
  ...base,
  testEnvironment: '<rootDir>/test/support/compiled-environment.js',
  testMatch: [
    '<rootDir>/test/resolvers/(gl-codes|input).test.ts',
    '<rootDir>/test/graphql/execution.test.ts',
    '<rootDir>/test/(attack/isolation|examples/operations|federation/references).test.ts',
    // The writes of one mutation: their keys, and those that follow after the client has disconnected.
    '<rootDir>/test/(idempotency/idempotent-call|http/client-connections).test.ts',
  ],
};
