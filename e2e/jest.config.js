import main from '../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...main,
  testEnvironment: 'node',
  transform: { '\\.ts$': main.transform['\\.ts$'] },
  roots: ['<rootDir>'],
  setupFilesAfterEnv: ['<rootDir>/../test/support/setup.ts'],
  testTimeout: 60_000,
};
