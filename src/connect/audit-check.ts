import { constants } from 'node:fs';
import { access, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { auditPathOf, cannotOpen } from '../audit/audit-output.ts';
import { codeOf } from './network-fault.ts';

/** Checks whether lines can be appended to the file of the audit record, or whether it can be created. Returns the faults. */
export async function checkAudit(setting: string): Promise<string[]> {
  const path = auditPathOf(setting);
  if (path === undefined) return [];
  const code = await appendCodeOf(path);
  if (code === undefined) return [];
  const remedy =
    'Write the path of a file to which this process can append, in a folder that exists';
  return [`${cannotOpen(path, code)}. ${remedy}`];
}

/** The code of the error if a file cannot be opened for appending. A file that is missing is not created. */
async function appendCodeOf(path: string): Promise<string | undefined> {
  const { O_APPEND, O_RDWR, W_OK, X_OK } = constants;
  try {
    await (await open(path, O_RDWR | O_APPEND)).close();
    return undefined;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return codeOf(error);
    return access(dirname(path), W_OK | X_OK).then(() => undefined, codeOf);
  }
}
