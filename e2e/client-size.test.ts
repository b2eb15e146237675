import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { bundle } from './bundle.ts';

/** The bytes that a page loads for these exports, minified and in gzip. */
const sizeOf = async (...exports: [names: string, module: string][]) =>
  gzipSync(await bundle(exports, { minify: true, external: ['react'] })).length;

test('the package stays small', async () => {
  const fetchOnly = await sizeOf(['createLedgerFetch', '@ledger-gateway/client']);
  const withHook = await sizeOf(
    ['createLedgerFetch', '@ledger-gateway/client'],
    ['useWrite', '@ledger-gateway/client/react'],
  );
  expect(fetchOnly).toBeLessThanOrEqual(5_000);
  expect(withHook - fetchOnly).toBeLessThanOrEqual(1_536);
});
