import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../packages/client/dist/', import.meta.url));
const modules = createRequire(new URL('../examples/web/package.json', import.meta.url));
const { rolldown } = modules('rolldown');

/** The code that a page loads for these modules: those of the client package, or React. */
export async function bundle(
  exports: readonly (readonly [names: string, module: string])[],
  { minify = false, external = [] as string[] } = {},
): Promise<string> {
  const code = exports.map(([names, module]) => `export { ${names} } from '${module}';`);
  const entry = {
    name: 'entry',
    resolveId(id: string) {
      if (id === 'entry') return id;
      if (id.startsWith('@ledger-gateway/client'))
        return `${dist}${id.split('/')[2] ?? 'index'}.js`;
      return id.startsWith('react') && !external.includes(id) ? modules.resolve(id) : null;
    },
    load: (id: string) => (id === 'entry' ? code.join('\n') : null),
  };
  // StrictMode does what it does only in development.
  const transform = { define: { 'process.env.NODE_ENV': '"development"' } };
  const bundle = await rolldown({ input: 'entry', external, plugins: [entry], transform });
  const { output } = await bundle.generate({ minify });
  return output[0].code;
}
