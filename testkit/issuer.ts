import { afterAll } from '@jest/globals';
import { type Issuer, startIssuer } from '../dev/issuer.ts';

let issuer: Promise<Issuer> | undefined;

/** The token issuer that the tests of a file share. */
export function testIssuer(): Promise<Issuer> {
  issuer ??= startIssuer();
  return issuer;
}

afterAll(async () => {
  await (await issuer)?.close();
  issuer = undefined;
});
