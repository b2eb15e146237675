import { createRequire } from 'node:module';
import { isDate, isMap, isNativeError, isPromise, isRegExp, isSet } from 'node:util/types';
import { TestEnvironment } from 'jest-environment-node';

/** Classes of which each environment has its own. Packages are loaded outside of it, where they are others. */
const classes = {
  Date: isDate,
  Error: isNativeError,
  Map: isMap,
  Promise: isPromise,
  RangeError: (value) => isNativeError(value) && value.name === 'RangeError',
  RegExp: isRegExp,
  Set: isSet,
  SyntaxError: (value) => isNativeError(value) && value.name === 'SyntaxError',
  TypeError: (value) => isNativeError(value) && value.name === 'TypeError',
};

/** The environment of Jest, in which `native-package.js` finds Node's own `require`. */
export default class NativeEnvironment extends TestEnvironment {
  constructor(...args) {
    super(...args);
    this.global.requireNative = createRequire(import.meta.url);
    recognizeOthers(this.global);
  }
}

recognizeOthers(globalThis);

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
