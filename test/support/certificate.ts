import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCA, createCert } from 'mkcert';
import { closeAfterTest } from './cleanup.ts';

/** A certificate and its key, in PEM and as files. */
export type CertificateFiles = { cert: string; key: string; certFile: string; keyFile: string };

/** Creates a CA, and certificates of it for 127.0.0.1. */
export async function createPrivateCa() {
  const folder = await mkdtemp(join(tmpdir(), 'certificates-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const ca = await createCA({
    organization: 'Test',
    countryCode: 'DE',
    state: '-',
    locality: '-',
    validity: 1,
  });

  async function save(name: string, { cert, key }: { cert: string; key: string }) {
    const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    return { cert, key, certFile, keyFile };
  }

  return {
    ...(await save('ca', ca)),
    async issue(name: string): Promise<CertificateFiles> {
      return save(name, await createCert({ ca, domains: ['127.0.0.1'], validity: 1 }));
    },
  };
}
