#!/usr/bin/env bash
# What validators make of dates that do not exist, or are not complete. Most of them accept 30 February and return 2 March, also those
# that are asked for ISO 8601, such as `Joi.date().iso()` and `string.date.iso.parse` of ArkType. Joi takes `20261129`, a date of ISO 8601
# without hyphens, for milliseconds, and returns a time of the year 1970. yup, zod and ArkType make 1 May 2001 of `5`. Only the formats of
# zod and of Ajv, which return a text, reject such dates.
#
# How to read the table: the date that each one returns, in UTC. "-": it rejects the value. "accepted": it returns the text unchanged,
# although there is no such date.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                    2026-02-30   02/30/2026   20261129     2026         5
#| Joi 18.3.2, date()                 2026-03-02   2026-03-02   1970-01-01   1970-01-01   1970-01-01
#| Joi, date().iso()                  2026-03-02   -            -            2026-01-01   -
#| yup 1.7.1, date()                  2026-03-02   2026-03-02   2026-11-29   2026-01-01   2001-05-01
#| zod 4.6.7, coerce.date()           2026-03-02   2026-03-02   -            2026-01-01   2001-05-01
#| zod, iso.date()                    -            -            -            -            -
#| ArkType 2.2.9, string.date.parse   2026-03-02   2026-03-02   -            2026-01-01   2001-05-01
#| ArkType, string.date.iso.parse     2026-03-02   -            -            2026-01-01   -
#| Valibot 1.5.0, isoDate()           accepted     -            -            -            -
#| Ajv 8.20.0, format: date           -            -            -            -            -
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm joi@18.3.2 yup@1.7.1 zod@4.6.7 arktype@2.2.9 valibot@1.5.0 ajv@8.20.0 ajv-formats@3.0.1

cat > "$folder/dates.js" <<'END'
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { type } from 'arktype';
import Joi from 'joi';
import * as v from 'valibot';
import * as yup from 'yup';
import { z } from 'zod';

const isDate = formats.default(new Ajv()).compile({ type: 'string', format: 'date' });
const validators = {
  'Joi 18.3.2, date()': (text) => Joi.attempt(text, Joi.date()),
  'Joi, date().iso()': (text) => Joi.attempt(text, Joi.date().iso()),
  'yup 1.7.1, date()': (text) => yup.date().validateSync(text),
  'zod 4.6.7, coerce.date()': (text) => z.coerce.date().parse(text),
  'zod, iso.date()': (text) => z.iso.date().parse(text),
  'ArkType 2.2.9, string.date.parse': (text) => type('string.date.parse').assert(text),
  'ArkType, string.date.iso.parse': (text) => type('string.date.iso.parse').assert(text),
  'Valibot 1.5.0, isoDate()': (text) => v.parse(v.pipe(v.string(), v.isoDate()), text),
  'Ajv 8.20.0, format: date': (text) => {
    if (!isDate(text)) throw new Error('no date');
    return text;
  },
};
const texts = ['2026-02-30', '02/30/2026', '20261129', '2026', '5'];

const row = ([name, ...cells]) => console.log((name.padEnd(35) + cells.map((cell) => cell.padEnd(13)).join('')).trimEnd());
row(['', ...texts]);
for (const [name, validate] of Object.entries(validators)) {
  const cells = texts.map((text) => {
    try {
      const result = validate(text);
      return result instanceof Date ? result.toISOString().slice(0, 10) : 'accepted';
    } catch {
      return '-';
    }
  });
  row([name, ...cells]);
}
END

measure() { TZ=UTC "$node" "$folder/dates.js"; }
check
