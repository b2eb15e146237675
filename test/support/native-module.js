import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const version = readFileSync(new URL(import.meta.url));

/**
 * A Jest transformer that replaces a module by what Node exports from it. So each worker loads and compiles what is tested,
 * and its packages, once. Jest would do that again for each test file, which takes more than a second.
 */
export default {
  getCacheKey(_source, path, { supportsStaticESM }) {
    const hash = createHash('sha256').update(version).update(namesOf(path).join());
    return hash.update(`${path} ${supportsStaticESM}`).digest('hex');
  },
  process(_source, path, { supportsStaticESM }) {
    const names = namesOf(path);
    const load = `requireNative(${JSON.stringify(path)})`;
    if (!supportsStaticESM) {
      // The second assignment is never executed. It names the exports for modules that import the file.
      return { code: `module.exports = ${load};\n0 && (module.exports = { ${names.join()} });` };
    }
    const lines = names.map((name, n) => `const _${n} = _.${name};\nexport { _${n} as ${name} };`);
    return { code: [`const _ = ${load};`, ...lines, 'export default _.default;'].join('\n') };
  },
};

function namesOf(path) {
  return Object.keys(require(path)).filter((name) => !['default', '__esModule'].includes(name));
}
