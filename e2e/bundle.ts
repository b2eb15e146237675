import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const webFolder = fileURLToPath(new URL('../examples/web/', import.meta.url));
const { rolldown } = createRequire(join(webFolder, 'package.json'))('rolldown');

/**
 * Returns the code that a page loads for a module in a folder: by default that of the example app, which has React, Apollo
 * Client and the client package.
 */
export async function bundle(
  module: string,
  { folder = webFolder, minify = false, external = [] as string[] } = {},
): Promise<string> {
  const input = join(folder, 'bundled.ts');
  const entry = {
    name: 'entry',
    resolveId: (id: string) => (id === input ? id : null),
    load: (id: string) => (id === input ? module : null),
  };
  const build = await rolldown({
    input,
    external,
    plugins: [entry],
    platform: 'browser',
    // The package is linked, and its React is that of the folder.
    resolve: { symlinks: false },
    // StrictMode does what it does only in development.
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
  });
  const { output } = await build.generate({ minify });
  return output[0].code;
}
