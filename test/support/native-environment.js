import { createRequire, flushCompileCache } from 'node:module';
import { TestEnvironment } from 'jest-environment-node';

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
  }
}

// Without freeing what the tests of a worker have used, which would take as long. Jest itself sets its exit code later.
if (process.send) process.once('exit', (code) => process.exit(code));
