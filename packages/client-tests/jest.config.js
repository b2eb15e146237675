/** @type {import('jest').Config} */
export default {
  testEnvironment: '@happy-dom/jest-environment',
  setupFilesAfterEnv: [`${import.meta.dirname}/testing/setup.ts`],
  testTimeout: 60_000,
  testMatch: ['**/*.jest.test.{ts,tsx}'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '\\.tsx?$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', tsx: true },
          target: 'es2024',
          transform: { react: { runtime: 'automatic' } },
        },
      },
    ],
  },
};
