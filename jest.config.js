/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, sourceMaps: 'inline' },
    ],
  },
  setupFilesAfterEnv: ['<rootDir>/test/support/setup.ts'],
  // Generous, because it only ends a test that hangs: a busy machine must not fail one.
  testTimeout: 60_000,
  // More than cores: much of a test is waiting for timers and processes.
  maxWorkers: 4,
};
