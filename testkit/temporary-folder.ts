import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeAfterTest } from './cleanup.ts';

/** Creates a folder that is deleted after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-gateway-test-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  return folder;
}

/** Creates a file with this text, alone in a folder that is deleted after the test. */
export async function temporaryFile(text: string): Promise<string> {
  const path = join(await temporaryFolder(), 'file');
  await writeFile(path, text);
  return path;
}
