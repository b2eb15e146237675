import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const version = readFileSync(new URL(import.meta.url));

/**
 * A Jest transformer that replaces a file of a package by what Node exports from that file. So each worker loads the
 * packages once. Jest would load their 1,200 files again for each test file, which takes more than a second.
 */
export default {
  getCacheKey(source, path, { supportsStaticESM }) {
    const hash = createHash('sha256').update(version).update(source);
    return hash.update(`${path} ${supportsStaticESM}`).digest('hex');
  },
  process(_source, path, { supportsStaticESM }) {
    const exports = require(path);
    const names = Object.keys(exports).filter((name) => !['default', '__esModule'].includes(name));
    const load = `requireNative(${JSON.stringify(path)})`;
    if (!supportsStaticESM) {
      // The second assignment is never executed. It names the exports for modules that import the file.
      return { code: `module.exports = ${load};\n0 && (module.exports = { ${names.join()} });` };
    }
    const lines = names.map((name, n) => `const _${n} = _.${name};\nexport { _${n} as ${name} };`);
    return { code: [`const _ = ${load};`, ...lines, 'export default _.default;'].join('\n') };
  },
};
