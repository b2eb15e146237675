#!/usr/bin/env bash
# A text of 36 characters takes 56 bytes in V8. One of `crypto.randomUUID()` takes 480, because Node joins it from short pieces, and V8
# keeps a text that was joined as a tree of its pieces until its characters are read. To use the text as the key of a Map does not read
# them, and neither does joining it with another text. So a Map of a million recent ids takes 400 MB more than it needs. Once something has
# read the characters, for example a regular expression, the text takes no more than any other one. Packages of ids that join their texts do
# the same. The manuals do not mention it.
#
# How to read the table: how many bytes of the heap one id of 100,000 takes, rounded to 20, besides its place in an array: when it is
# created, after it was set in a Map and deleted there, and after a regular expression has read it.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                 characters  created     after Map.set  after a RegExp
#| randomUUID of node:crypto       36          about 480   about 480      below 100
#| randomBytes, as hex             36          below 100   below 100      below 100
#| uuid, v4                        36          about 480   about 480      below 100
#| uuid, v4 with own random bytes  36          below 100   below 100      below 100
#| uuid, v7                        36          below 100   below 100      below 100
#| nanoid                          21          below 100   below 100      below 100
#| ulid                            26          about 220   about 220      below 100
#| cuid2                           24          about 180   about 180      below 100
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm uuid@14.0.3 nanoid@6.0.2 ulid@3.0.2 @paralleldrive/cuid2@3.3.0

cat > "$folder/bytes.mjs" <<'END'
import { randomBytes, randomUUID } from 'node:crypto';
import { createId } from '@paralleldrive/cuid2';
import { nanoid } from 'nanoid';
import { ulid } from 'ulid';
import { v4, v7 } from 'uuid';

const COUNT = 100_000;
const random = new Uint8Array(16).fill(7);
const ways = {
  'randomUUID of node:crypto': () => randomUUID(),
  'randomBytes, as hex': () => randomBytes(18).toString('hex'),
  'uuid, v4': () => v4(),
  'uuid, v4 with own random bytes': () => v4({ random: random.slice() }),
  'uuid, v7': () => v7(),
  nanoid: () => nanoid(),
  ulid: () => ulid(),
  cuid2: () => createId(),
};

const used = () => {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};
const print = (name, ...cells) =>
  console.log(name.padEnd(32) + cells.map((cell, n) => String(cell).padEnd([12, 12, 15, 0][n])).join(''));

print('', 'characters', 'created', 'after Map.set', 'after a RegExp');
for (const [name, create] of Object.entries(ways)) {
  for (let n = 0; n < 1000; n++) create();
  const ids = new Array(COUNT).fill(0);
  const before = used();
  const each = () => {
    const bytes = (used() - before) / COUNT;
    return bytes < 100 ? 'below 100' : `about ${Math.round(bytes / 20) * 20}`;
  };
  for (let n = 0; n < COUNT; n++) ids[n] = create();
  const created = each();
  const map = new Map([['another', 1]]);
  for (const id of ids) map.set(id, 1).delete(id);
  const afterMap = each();
  for (const id of ids) /^[\w-]+$/.test(id);
  const afterRegExp = each();
  print(name, ids[0].length, created, afterMap, afterRegExp);
}
END

measure() {
  (cd "$folder" && "$node" --expose-gc bytes.mjs)
}
check
