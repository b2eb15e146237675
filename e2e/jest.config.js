import main from '../jest.config.js';

const fromMain = (path) => path.replace('<rootDir>', '<rootDir>/..');

/** @type {import('jest').Config} */
export default {
  ...main,
  testEnvironment: fromMain(main.testEnvironment),
  transform: {
    ...main.transform,
    '/node_modules/': fromMain(main.transform['/node_modules/']),
  },
  // Puppeteer passes only plain objects to Firefox: those of the realm that loads it, which has to be that of the test.
  transformIgnorePatterns: [...main.transformIgnorePatterns, '/node_modules/puppeteer-core/'],
  roots: ['<rootDir>'],
  globalSetup: '<rootDir>/build-web-app.ts',
  setupFilesAfterEnv: main.setupFilesAfterEnv.map(fromMain),
  testTimeout: 60_000,
};
