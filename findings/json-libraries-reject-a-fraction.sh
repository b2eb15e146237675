#!/usr/bin/env bash
# What libraries that read the large integers of a JSON text without rounding make of other numbers. json-bigint treats each number of more
# than 15 characters as a large integer. So with `useNativeBigInt`, it rejects 0.30000000000000004, which is how JavaScript writes 0.1 +
# 0.2. With `storeAsString`, it returns that number as a text, and without an option as a BigNumber. In both cases, `+ 1` returns a text
# with a 1 appended. json-bigint also rejects 1e400, and an object with the key `constructor`.
#
# How to read the table: the type of the value that the program gets, or "error". "+ 1": the sum of the value before it and 1. "key":
# whether it reads `{"constructor":1}`. The last row is JSON.parse with a function that gets the text of each number, without a package.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                9007199254740993   0.30000000000000004   + 1                     1e400            key
#| json-bigint 1.0.0              BigNumber          BigNumber             "0.300000000000000041"  error            error
#| json-bigint, useNativeBigInt   bigint             error                 error                   error            error
#| json-bigint, storeAsString     string             string                "0.300000000000000041"  error            error
#| @apimatic/json-bigint 1.2.0    bigint             number                1.3                     error            error
#| json-bigint-native 1.2.0       bigint             number                1.3                     error            read
#| json-with-bigint 3.5.12        bigint             number                1.3                     number           read
#| lossless-json 4.3.3            LosslessNumber     LosslessNumber        1.3                     LosslessNumber   read
#| JSON.parse of Node             bigint             number                1.3                     number           read
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm json-bigint@1.0.0 @apimatic/json-bigint@1.2.0 json-bigint-native@1.2.0 json-with-bigint@3.5.12 lossless-json@4.3.3

cat > "$folder/parse.js" <<'END'
import apimatic from '@apimatic/json-bigint';
import jsonBigint from 'json-bigint';
import jsonBigintNative from 'json-bigint-native';
import { JSONParse } from 'json-with-bigint';
import { parse } from 'lossless-json';

const exact = (_, value, { source }) => (typeof value === 'number' && /^-?\d{16,}$/.test(source) ? BigInt(source) : value);
const libraries = {
  'json-bigint 1.0.0': jsonBigint.parse,
  'json-bigint, useNativeBigInt': jsonBigint({ useNativeBigInt: true }).parse,
  'json-bigint, storeAsString': jsonBigint({ storeAsString: true }).parse,
  '@apimatic/json-bigint 1.2.0': apimatic.parse,
  'json-bigint-native 1.2.0': jsonBigintNative.parse,
  'json-with-bigint 3.5.12': (text) => JSONParse(text),
  'lossless-json 4.3.3': (text) => parse(text),
  'JSON.parse of Node': (text) => JSON.parse(text, exact),
};

const typeOf = (value) => (typeof value === 'object' ? value.constructor.name : typeof value);
const columns = {
  '9007199254740993': (read) => typeOf(read('9007199254740993')),
  '0.30000000000000004': (read) => typeOf(read('0.30000000000000004')),
  '+ 1': (read) => JSON.stringify(read('0.30000000000000004') + 1),
  '1e400': (read) => typeOf(read('1e400')),
  key: (read) => read('{"constructor":1}') && 'read',
};

const widths = [19, 22, 24, 17, 0];
const row = (name, cells) => console.log((name.padEnd(31) + cells.map((cell, index) => cell.padEnd(widths[index])).join('')).trimEnd());
row('', Object.keys(columns));
for (const [name, read] of Object.entries(libraries)) {
  row(
    name,
    Object.values(columns).map((cell) => {
      try {
        return cell(read);
      } catch {
        return 'error';
      }
    }),
  );
}
END

measure() { "$node" "$folder/parse.js"; }
check
