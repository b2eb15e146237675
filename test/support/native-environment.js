import { createRequire, flushCompileCache } from 'node:module';
import { isMap, isNativeError, isPromise, isRegExp, isSet } from 'node:util/types';
import { TestEnvironment } from 'jest-environment-node';

/** Classes of which each environment has its own. Modules are loaded outside of it, where they are others. */
const classes = {
  Error: isNativeError,
  Map: isMap,
  Promise: isPromise,
  RangeError: (value) => isNativeError(value) && value.name === 'RangeError',
  RegExp: isRegExp,
  Set: isSet,
  SyntaxError: (value) => isNativeError(value) && value.name === 'SyntaxError',
  TypeError: (value) => isNativeError(value) && value.name === 'TypeError',
};

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
    recognizeOthers(this.global);
  }

  /** What a test replaced is there again for the next test file. */
  async teardown() {
    this.moduleMocker.restoreAllMocks();
    // At its exit, a worker would write all of it, which takes longer than Jest waits for its end.
    flushCompileCache();
    await super.teardown();
  }
}

recognizeOthers(globalThis);

// Without freeing what the tests of a worker have used, which would take as long. Jest itself sets its exit code later.
if (process.send) process.once('exit', (code) => process.exit(code));

/** Makes `instanceof` true for the objects of other environments, too. */
function recognizeOthers(environment) {
  for (const [name, isOne] of Object.entries(classes)) {
    const Class = environment[name];
    const isInstance = Class[Symbol.hasInstance];
    Object.defineProperty(Class, Symbol.hasInstance, {
      configurable: true,
      value(value) {
        return isInstance.call(this, value) || (this === Class && isOne(value));
      },
    });
  }
}
