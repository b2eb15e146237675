import module from 'node:module';
import { setFlagsFromString } from 'node:v8';

/** Settings of V8 for the process. Call before the rest of the code is imported. */
export function applyV8Settings(compileCacheFolder: string): void {
  // During warm-up V8 sees many requests alive at once. It would then allocate later, short-lived objects
  // directly in the old generation, which is collected late (docs/decisions/0011).
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Keeps compiled code for the next start, if the folder is writable (docs/decisions/0002).
  module.enableCompileCache(compileCacheFolder);
}
