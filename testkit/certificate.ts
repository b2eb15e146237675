import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate, type SelfsignedOptions } from 'selfsigned';
import { temporaryFolder } from './temporary-folder.ts';

/** A certificate and its key, in PEM and as files. */
export type CertificateFiles = { cert: string; key: string; certFile: string; keyFile: string };

/** The validity of a certificate that has expired. */
export const expired = {
  notBeforeDate: new Date('2020-01-01'),
  notAfterDate: new Date('2021-01-01'),
};

/** Creates a CA, and certificates of it for 127.0.0.1. */
export async function createPrivateCa(validity: SelfsignedOptions = {}) {
  const folder = await temporaryFolder();

  async function create(name: string, options: SelfsignedOptions): Promise<CertificateFiles> {
    const subject = [{ name: 'commonName', value: name }];
    const { cert, private: key } = await generate(subject, {
      keyType: 'ec',
      algorithm: 'sha256',
      ...options,
    });
    const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    return { cert, key, certFile, keyFile };
  }

  const ca = await create('ca', {
    ...validity,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  return {
    ...ca,
    issue: (name: string, validity: SelfsignedOptions = {}): Promise<CertificateFiles> =>
      create(name, {
        ca,
        ...validity,
        extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
      }),
  };
}
