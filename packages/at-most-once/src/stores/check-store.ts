import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { StoreUnavailable } from '../store.ts';

export { faultOfStoreUrl } from './store-url.ts';

/** Checks whether a store that `openAtMostOnce` takes can be used. Its keys stay as they are. Throws StoreUnavailable, or Error for a URL. */
export async function checkStore(setting: string): Promise<void> {
  const [scheme = '', name = ''] = setting.split(/:(.*)/s);
  if (scheme === 'memory') return;
  if (scheme === 'file') return checkFile(resolve(name));
  if (scheme.startsWith('redis')) {
    const { checkRedis } = await import('./redis-store.ts');
    return checkRedis(setting);
  }
  const { checkPostgres } = await import('./postgres-store.ts');
  return checkPostgres(setting);
}

/** Checks that the file is not in use, and that it or the folder in which it is to be created can be written to. */
async function checkFile(path: string): Promise<void> {
  const { R_OK, W_OK, X_OK } = constants;
  const folder = dirname(path);
  const codeOf = (error: NodeJS.ErrnoException) => error.code ?? 'failed';
  // SQLite also creates files beside that of the store.
  const ofFolder = await access(folder, W_OK | X_OK).then(() => undefined, codeOf);
  if (ofFolder !== undefined) throw notWritable(`the folder ${folder}`, ofFolder);
  const ofFile = await access(path, R_OK | W_OK).then(() => undefined, codeOf);
  if (ofFile === 'ENOENT') return;
  if (ofFile !== undefined) throw notWritable(`the file ${path}`, ofFile);
  if (!(await stat(path)).isFile()) throw notWritable(path, 'it is no file');
  const { checkNotInUse } = await import('./sqlite-file.ts');
  checkNotInUse(path);
}

function notWritable(what: string, fault: string): StoreUnavailable {
  const message = `The process cannot read and write ${what}: ${fault}`;
  return new StoreUnavailable('not_writable', message);
}
