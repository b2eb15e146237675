import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/** Nothing in this repository starts these routers, so this test only compares lists. */
const configurations = ['apollo-router.yaml', 'cosmo-router.yaml'].map((name) => ({
  name,
  text: readFileSync(new URL(`../../examples/federation/${name}`, import.meta.url), 'utf8'),
}));

test.each(configurations)('$name passes on what clients and errors need', ({ text }) => {
  const entries = [...text.matchAll(/^ +(?:- (?!op:)|named: )([\w-]+)$/gm)].map(([, name = '']) =>
    name.toLowerCase(),
  );
  expect(entries).toEqual(
    expect.arrayContaining([
      ...['authorization', 'x-request-id', 'traceparent', 'tracestate'],
      ...['idempotency-key', 'idempotency-key-age'],
      ...['code', 'retryable', 'requestid', 'faults'],
    ]),
  );
});
