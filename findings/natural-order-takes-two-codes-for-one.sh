#!/usr/bin/env bash
# Which texts are equal for functions that compare in natural order ("2" before "10"). `Intl.Collator` with `numeric: true`, natural-orderby
# and natsort return 0 for the codes `00100` and `100`. natural-orderby, natsort and javascript-natural-sort do so for `1.10` and `1.1`. A
# program that removes duplicates or searches with such a function loses one of two rows. In Thai, `Intl.Collator` ignores spaces and
# punctuation by default, so that `4.000` and `4000` are equal. In each language, it takes digits of other scripts for the digits 0 to 9,
# and ignores invisible characters such as the soft hyphen.
#
# How to read the table: "equal" where the result is 0, and "-" where the function tells the two texts apart.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script. The rules of a language are those of the ICU in Node.
#
#|                                 00100, 100   1.10, 1.1    4.000, 4000  1 2, 12      Arabic 3, 3  soft hyphen
#| Intl.Collator('en')             -            -            -            -            equal        equal
#| Intl.Collator('en'), numeric    equal        -            -            -            equal        equal
#| Intl.Collator('th')             -            -            equal        equal        equal        equal
#| natural-orderby 5.0.0           equal        equal        -            -            -            equal
#| javascript-natural-sort 0.7.1   -            equal        -            -            -            -
#| natsort 2.0.3                   equal        equal        -            -            -            equal
#| natural-compare 1.4.0           -            -            -            -            -            -
#| string-natural-compare 3.0.1    -            -            -            -            -            -
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm natural-orderby@5.0.0 javascript-natural-sort@0.7.1 natural-compare@1.4.0 string-natural-compare@3.0.1 natsort@2.0.3

cat > "$folder/compare.js" <<'END'
import naturalSort from 'javascript-natural-sort';
import naturalCompare from 'natural-compare';
import { compare } from 'natural-orderby';
import natsort from 'natsort';
import stringNaturalCompare from 'string-natural-compare';

const functions = {
  "Intl.Collator('en')": new Intl.Collator('en').compare,
  "Intl.Collator('en'), numeric": new Intl.Collator('en', { numeric: true }).compare,
  "Intl.Collator('th')": new Intl.Collator('th').compare,
  'natural-orderby 5.0.0': compare(),
  'javascript-natural-sort 0.7.1': naturalSort,
  'natsort 2.0.3': (natsort.default ?? natsort)(),
  'natural-compare 1.4.0': naturalCompare,
  'string-natural-compare 3.0.1': stringNaturalCompare,
};
const pairs = {
  '00100, 100': ['00100', '100'],
  '1.10, 1.1': ['1.10', '1.1'],
  '4.000, 4000': ['4.000', '4000'],
  '1 2, 12': ['1 2', '12'],
  'Arabic 3, 3': ['\u0663', '3'],
  'soft hyphen': ['a\u00adb', 'ab'],
};

const row = (name, cells) => console.log((name.padEnd(32) + cells.map((cell) => cell.padEnd(13)).join('')).trimEnd());
row('', Object.keys(pairs));
for (const [name, compareTwo] of Object.entries(functions)) {
  row(
    name,
    Object.values(pairs).map(([one, other]) => (compareTwo(one, other) === 0 ? 'equal' : '-')),
  );
}
END

measure() { "$node" "$folder/compare.js"; }
check
