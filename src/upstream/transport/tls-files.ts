import { createPrivateKey, X509Certificate } from 'node:crypto';

/** A private CA, and a certificate with its key for mutual TLS, all in PEM. */
export type TlsFiles = {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
};

const pemPattern = /^-----BEGIN CERTIFICATE-----\s[^-]+-----END CERTIFICATE-----\s*$/gm;

/**
 * When certificates in PEM expire, in milliseconds since 1970. A chain expires with the first of its certificates, a list of
 * CAs with the last. Throws if there is no certificate.
 */
export function expiryOf(pem: string, kind: 'chain' | 'list'): number {
  const ends = pem.match(pemPattern)?.map((one) => Date.parse(new X509Certificate(one).validTo));
  if (!ends) throw new TypeError('no certificate');
  return kind === 'chain' ? Math.min(...ends) : Math.max(...ends);
}

/** The problems of a certificate and a key that do not fit each other. */
export function pairProblems({ cert, key }: TlsFiles): string[] {
  const isPair = !cert || !key || new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  return isPair ? [] : ['UPSTREAM_TLS_KEY_FILE must be the key of UPSTREAM_TLS_CERT_FILE'];
}

/** When the certificates expire, in seconds since 1970, by the variable of their file. */
export function* expiriesOf({ ca, cert }: TlsFiles): Iterable<[{ file: string }, number]> {
  if (ca) yield [{ file: 'UPSTREAM_TLS_CA_FILE' }, expiryOf(ca, 'list') / 1000];
  if (cert) yield [{ file: 'UPSTREAM_TLS_CERT_FILE' }, expiryOf(cert, 'chain') / 1000];
}
