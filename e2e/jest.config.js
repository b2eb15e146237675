import main from '../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...main,
  // Puppeteer passes only plain objects to Firefox: those of the realm that loads it, which has to be that of the test.
  transformIgnorePatterns: [...main.transformIgnorePatterns, '/node_modules/puppeteer-core/'],
  roots: ['<rootDir>'],
  globalSetup: '<rootDir>/build.ts',
  // The site is built and looked at by `npm run docs:check`, which takes minutes.
  testPathIgnorePatterns: ['/node_modules/', 'site\\.test\\.ts$'],
  // The tests of a file share one page and its servers, so they run in their order.
  randomize: false,
};
