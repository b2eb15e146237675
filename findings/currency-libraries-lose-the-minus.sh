#!/usr/bin/env bash
# What libraries for amounts of money read from a text that `Intl.NumberFormat` has written. In Swedish, Norwegian, Finnish, Estonian,
# Lithuanian, Croatian and Slovenian, it writes the minus of Unicode (U+2212) and not the hyphen of ASCII. currency.js, Numeral.js and
# accounting.js skip this character, so that a debit becomes a credit. They also skip the letter of `1e3`, which is how JSON may write
# 1000, and return 13. accounting.js makes 0 of -5 in Arabic. There is no error.
#
# How to read the table: what each one reads from -5 as each language writes it, and from the text `1e3`.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script. The minus of a language is that of the ICU in Node.
#
#|         currency.js    Numeral.js     accounting.js  numbro         parse-decimal  NumberParser
#| en-US   -5             -5             -5             -5             -5             -5
#| de-DE   -5             -5             -5             -5             -5             -5
#| sv-SE   5              5              5              undefined      NaN            -5
#| nb-NO   5              5              5              undefined      NaN            -5
#| fi-FI   5              5              5              undefined      NaN            -5
#| hr-HR   5              5              5              undefined      NaN            -5
#| ar-EG   NaN            null           0              undefined      NaN            -5
#| 1e3     13             13             13             1000           NaN            1000
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm currency.js@2.0.4 numeral@2.0.6 accounting@0.4.1 numbro@2.5.0 parse-decimal-number@1.0.0 @internationalized/number@3.6.9

cat > "$folder/amounts.js" <<'END'
import { NumberParser } from '@internationalized/number';
import accounting from 'accounting';
import currency from 'currency.js';
import numbro from 'numbro';
import numeral from 'numeral';
import parseDecimal from 'parse-decimal-number';

const libraries = {
  'currency.js': (text) => currency(text).value,
  'Numeral.js': (text) => numeral(text).value(),
  'accounting.js': (text) => accounting.unformat(text),
  numbro: (text) => numbro.unformat(text),
  'parse-decimal': (text) => parseDecimal(text),
  NumberParser: (text, locale) => new NumberParser(locale).parse(text),
};
const row = (name, cells) => console.log((name.padEnd(8) + cells.map((cell) => String(cell).padEnd(15)).join('')).trimEnd());
const readAll = (text, locale) => Object.values(libraries).map((read) => read(text, locale));

row('', Object.keys(libraries));
for (const locale of ['en-US', 'de-DE', 'sv-SE', 'nb-NO', 'fi-FI', 'hr-HR', 'ar-EG']) {
  row(locale, readAll(new Intl.NumberFormat(locale).format(-5), locale));
}
row('1e3', readAll('1e3', 'en-US'));
END

measure() { "$node" "$folder/amounts.js"; }
check
