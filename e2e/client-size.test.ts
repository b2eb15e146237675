import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { bundle } from './bundle.ts';

const fetchCode = `export { createLedgerFetch } from '@ledger-gateway/client';`;
const hookCode = `export { useWrite } from '@ledger-gateway/client/react';`;

/** The bytes that a page loads for these exports, minified and in gzip. */
const sizeOf = async (code: string) =>
  gzipSync(await bundle(code, { minify: true, external: ['react'] })).length;

test('the package stays small', async () => {
  const fetchOnly = await sizeOf(fetchCode);
  const withHook = await sizeOf(`${fetchCode}\n${hookCode}`);
  // Since 2.0, it asks before each repeat whether keys arrive, and says why an outcome is unknown.
  expect(fetchOnly).toBeLessThanOrEqual(5_450);
  expect(withHook - fetchOnly).toBeLessThanOrEqual(1_800);
});
