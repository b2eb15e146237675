import { expect, test } from '@jest/globals';
import { readService, shownOf, variablesOf } from '../../src/config/service-settings.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';

test('a further service has the variables of the first one, with its name in them', () => {
  const suffixes = Object.keys(variablesOf('ledger')).map((name) => name.replace('UPSTREAM_', ''));
  expect(suffixes).toContain('TLS_KEY_FILE');
  expect(Object.keys(variablesOf('vendorBook'))).toEqual(
    suffixes.map((name) => `UPSTREAM_VENDOR_BOOK_${name}`),
  );
});

test('each service reads its own variables, and its settings show nothing secret', async () => {
  const headersFile = await temporaryFile('x-key: secret');
  const given = {
    UPSTREAM_BASE_URL: 'https://ledger.example/',
    UPSTREAM_TIMEOUT_MS: '5000',
    UPSTREAM_VENDORS_BASE_URL: 'https://vendors.example/secret',
    UPSTREAM_VENDORS_HEADERS_FILE: headersFile,
  };
  expect(readService('ledger', given)).toMatchObject({ timeoutMs: 5000, headers: {} });
  const vendors = readService('vendors', given);
  if ('problems' in vendors) throw new Error(vendors.problems.join());
  expect(vendors).toMatchObject({ timeoutMs: 10_000, headers: { 'x-key': 'secret' } });
  expect(vendors.baseUrl.href).toBe('https://vendors.example/secret/');
  expect(JSON.stringify(shownOf(vendors))).not.toContain('secret');
  expect(shownOf(vendors)).toMatchObject({ headers: ['x-key'], headersFile });
});

test('the problems of a service name its variables', () => {
  const given = {
    UPSTREAM_VENDORS_BASE_URL: 'http://vendors.example/',
    UPSTREAM_VENDORS_TIMEOUT_MS: 'x',
    UPSTREAM_VENDORS_TLS_KEY_FILE: '/nowhere',
  };
  const start = 'UPSTREAM_VENDORS_';
  expect(readService('vendors', {})).toEqual({ problems: [`${start}BASE_URL is required`] });
  expect(readService('vendors', given)).toEqual({
    problems: [
      `${start}TIMEOUT_MS must be an integer from 1 to 600000`,
      expect.stringContaining(`${start}TLS_KEY_FILE must be a readable file`),
      `${start}BASE_URL must be https with ${start}TLS_CA_FILE, _CERT_FILE or _KEY_FILE`,
      `${start}TLS_CERT_FILE and ${start}TLS_KEY_FILE are required together`,
    ],
  });
});
