import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'happy-dom',
    include: ['**/*.vitest.test.{ts,tsx}'],
    setupFiles: ['testing/setup.ts'],
    testTimeout: 60_000,
  },
});
