import { svelte } from '@sveltejs/vite-plugin-svelte';
import vue from '@vitejs/plugin-vue';
import { defineConfig } from 'vitest/config';

const common = {
  environment: 'happy-dom',
  testTimeout: 60_000,
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...common,
          name: 'client',
          include: ['*.vitest.test.ts', 'testing/*.vitest.test.ts'],
        },
      },
      {
        plugins: [vue(), svelte({ configFile: false })],
        // Otherwise, Svelte would load its part for servers.
        resolve: { conditions: ['browser'] },
        test: { ...common, name: 'first write', include: ['first-write/*.vitest.test.{ts,tsx}'] },
      },
    ],
  },
});
