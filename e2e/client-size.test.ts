import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';

const dist = fileURLToPath(new URL('../packages/client/dist/', import.meta.url));
const { rolldown } = createRequire(new URL('../examples/web/package.json', import.meta.url))(
  'rolldown',
);

/** The bytes that a page loads for these exports, minified and in gzip. */
async function sizeOf(...exported: (readonly [name: string, file: string])[]): Promise<number> {
  const code = exported.map(([name, file]) => `export { ${name} } from '${dist}${file}.js';`);
  const entry = {
    name: 'entry',
    resolveId: (id: string) => (id === 'entry' ? id : null),
    load: (id: string) => (id === 'entry' ? code.join('\n') : null),
  };
  const bundle = await rolldown({ input: 'entry', external: ['react'], plugins: [entry] });
  const { output } = await bundle.generate({ minify: true });
  return gzipSync(output[0].code).length;
}

test('the package stays small', async () => {
  const fetchOnly = await sizeOf(['createLedgerFetch', 'index']);
  const withHook = await sizeOf(['createLedgerFetch', 'index'], ['useWrite', 'react']);
  expect(fetchOnly).toBeLessThanOrEqual(5_000);
  expect(withHook - fetchOnly).toBeLessThanOrEqual(1_536);
});
