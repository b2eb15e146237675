import { createRequire, flushCompileCache } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { TestEnvironment } from 'jest-environment-node';

// The compilation cache of V8 would keep the scripts of each test file, and with them everything in its environment.
setFlagsFromString('--no-compilation-cache');

/** Classes of which each environment has its own. Modules are loaded outside of it, so its tests use theirs. */
const classes = [
  'Error',
  'Map',
  'Promise',
  'RangeError',
  'RegExp',
  'Set',
  'SyntaxError',
  'TypeError',
];

/** What tests replace in the modules that they test, and use themselves. */
const clocks = ['Date', 'setInterval', 'setTimeout', 'clearInterval', 'clearTimeout'];

/** The environment of Jest, in which `native-module.js` finds Node's own `require`, and whose timers are Node's own. */
export default class NativeEnvironment extends TestEnvironment {
  #open = openResources();

  constructor(config, context) {
    super(config, context);
    this.global.requireNative = createRequire(import.meta.url);
    this.global.native = globalThis;
    for (const name of clocks) {
      Object.defineProperty(this.global, name, { configurable: true, get: () => globalThis[name] });
    }
    this.fakeTimersModern = new this.fakeTimersModern.constructor({
      config: config.projectConfig,
      global: globalThis,
    });
    for (const name of classes) this.global[name] = globalThis[name];
  }

  /** What a test replaced is there again for the next test file. */
  async teardown() {
    this.moduleMocker.restoreAllMocks();
    // At its exit, a worker would write all of it, which takes longer than Jest waits for its end.
    flushCompileCache();
    await super.teardown();
    await this.#expectNothingOpen();
  }

  /** Fails a test file that leaves a server, a connection or a timer behind, which would keep a worker running. */
  async #expectNothingOpen() {
    for (let waits = 0; ; waits++) {
      const left = openResources();
      for (const resource of this.#open) {
        const index = left.indexOf(resource);
        if (index >= 0) left.splice(index, 1);
      }
      if (left.length === 0) return;
      // What is closed may take some iterations of the event loop.
      if (waits === 100) throw new Error(`The test file leaves open: ${left.join(', ')}`);
      await pause(20);
    }
  }
}

/** What keeps a worker running, without its pipes to Jest. */
function openResources() {
  return process.getActiveResourcesInfo().filter((resource) => resource !== 'PipeWrap');
}

// Without freeing what the tests of a worker have used, which would take as long. Jest itself sets its exit code later.
if (process.send) process.once('exit', (code) => process.exit(code));
