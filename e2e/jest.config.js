import main from '../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...main,
  // Puppeteer passes only plain objects to Firefox, and oidc-provider accepts only plain objects: those of the realm that loads
  // them, which has to be that of the test.
  transformIgnorePatterns: [
    ...main.transformIgnorePatterns,
    '/node_modules/puppeteer-core/',
    '/node_modules/oidc-provider/',
  ],
  roots: ['<rootDir>'],
  globalSetup: '<rootDir>/build.ts',
  // The site is built and looked at by `npm run docs:check`, which takes minutes.
  testPathIgnorePatterns: ['/node_modules/', 'site\\.test\\.ts$'],
  // The tests of a file share one page and its servers, so they run in their order.
  randomize: false,
};
