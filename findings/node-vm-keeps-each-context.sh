#!/usr/bin/env bash
# Garbage collections do not free a context of `node:vm` in which a script with `importModuleDynamically`, or a module, was executed, nor
# what its code has created. V8 keeps compiled code in a cache. While the code is there, Node keeps its callback or module, and everything
# that these use. So a process grows that evaluates code in contexts that it drops: a worker of Jest with `--experimental-vm-modules`
# keeps each test file. With the option `--no-compilation-cache` of V8, also by `v8.setFlagsFromString`, all contexts are freed.
#
# How to read the table: ten contexts are created, used and dropped. The number is how many of them are still there after twenty garbage
# collections, without the option and with it. Each callback refers to its context, as those of Jest do.
#
# Seen on 2026-11-29 with Node 24.21.0.
#
#|                                             default  --no-compilation-cache
#| Script                                      0        0
#| Script, importModuleDynamically             10       0
#| compileFunction                             0        0
#| compileFunction, importModuleDynamically    10       0
#| SourceTextModule                            10       0
#| SourceTextModule, importModuleDynamically   10       0
. "$(dirname "$0")/common.sh"

cat > "$folder/contexts.mjs" <<'END'
import { setTimeout as pause } from 'node:timers/promises';
import vm from 'node:vm';

let count = 0;
/** A source that was not compiled before. */
const source = () => `${(count += 1)}`;

function runScript(context, options) {
  new vm.Script(source(), options).runInContext(context);
}
function callFunction(context, options) {
  vm.compileFunction(`return ${source()}`, [], { parsingContext: context, ...options })();
}
async function evaluateModule(context, options) {
  const module = new vm.SourceTextModule(`export default ${source()}`, { context, ...options });
  await module.link(() => {});
  await module.evaluate();
}
const ways = { Script: runScript, compileFunction: callFunction, SourceTextModule: evaluateModule };

async function useContext(use, isImporting) {
  const context = vm.createContext({});
  await use(context, isImporting ? { importModuleDynamically: () => context } : {});
  return new WeakRef(context);
}

for (const [name, use] of Object.entries(ways)) {
  for (const isImporting of [false, true]) {
    const contexts = [];
    for (let n = 0; n < 10; n += 1) contexts.push(await useContext(use, isImporting));
    for (let n = 0; n < 20; n += 1) {
      await pause(5);
      globalThis.gc();
    }
    const kept = contexts.filter((context) => context.deref()).length;
    console.log(`${name}${isImporting ? ', importModuleDynamically' : ''}\t${kept}`);
  }
}
END

run() { "$node" --expose-gc --experimental-vm-modules --no-warnings "$@" "$folder/contexts.mjs"; }

measure() {
  printf '%-43s %-8s %s\n' '' default --no-compilation-cache
  paste <(run) <(run --no-compilation-cache | cut -f 2) |
    while IFS=$'\t' read -r name default without; do printf '%-43s %-8s %s\n' "$name" "$default" "$without"; done
}
check
