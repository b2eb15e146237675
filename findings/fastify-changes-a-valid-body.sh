#!/usr/bin/env bash
# With its default options, Fastify changes JSON bodies before the handler gets them, also valid ones. For a field that is an integer or
# null, in the schema that TypeBox, zod and others write (`anyOf`), it makes 0 of null. In the other order, it makes null of 0. If the
# field is a string or a number, each number becomes a string. The reason is its option `coerceTypes: 'array'` for Ajv, which converts the
# value for the first part of `anyOf`, and does not ask first whether another part fits. With `oneOf`, a valid null or 0 is rejected.
# `type` with two names keeps valid values. An invalid null becomes 0, or the list [0], instead of an error.
#
# How to read the table: what the handler gets for `{"a": VALUE}`. "=": the same value. "400": the request is rejected. "!": Fastify
# changes or rejects the value, although it is valid for Ajv without conversions.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#| Fastify 5.12.8                             null     0        1        ""       " "      "7"      false
#| TypeBox 1.4.3, Union([Integer(), Null()])  0 !      =        =        null     0        7        0
#| zod 4.6.7, int().nullable()                0 !      =        =        null     0        7        0
#| anyOf: null, integer                       =        null !   =        null     0        7        null
#| anyOf: string, number                      ""       "0" !    "1" !    =        =        =        "false"
#| anyOf: boolean, integer                    false    false !  true !   400      0        7        =
#| oneOf: integer, null                       400 !    400 !    =        null     400      7        400
#| type: [integer, null]                      =        =        =        null     0        7        0
#| type: integer                              0        =        =        400      0        7        0
#| type: array of integer                     [0]      [0]      [1]      400      [0]      [7]      [0]
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm fastify@5.12.8 ajv@8.20.0 typebox@1.4.3 zod@4.6.7

cat > "$folder/bodies.js" <<'END'
import { Ajv } from 'ajv';
import Fastify from 'fastify';
import { Type } from 'typebox';
import { z } from 'zod';

const integer = { type: 'integer' };
const nothing = { type: 'null' };
const schemas = {
  'TypeBox 1.4.3, Union([Integer(), Null()])': Type.Object({ a: Type.Union([Type.Integer(), Type.Null()]) }),
  'zod 4.6.7, int().nullable()': z.toJSONSchema(z.object({ a: z.int().nullable() }), { target: 'draft-7' }),
  'anyOf: null, integer': { properties: { a: { anyOf: [nothing, integer] } } },
  'anyOf: string, number': { properties: { a: { anyOf: [{ type: 'string' }, { type: 'number' }] } } },
  'anyOf: boolean, integer': { properties: { a: { anyOf: [{ type: 'boolean' }, integer] } } },
  'oneOf: integer, null': { properties: { a: { oneOf: [integer, nothing] } } },
  'type: [integer, null]': { properties: { a: { type: ['integer', 'null'] } } },
  'type: integer': { properties: { a: integer } },
  'type: array of integer': { properties: { a: { type: 'array', items: integer } } },
};
const values = [null, 0, 1, '', ' ', '7', false];

const row = ([name, ...cells]) => console.log((name.padEnd(43) + cells.map((cell) => cell.padEnd(9)).join('')).trimEnd());
row(['Fastify 5.12.8', ...values.map((value) => JSON.stringify(value))]);
for (const [name, part] of Object.entries(schemas)) {
  const schema = { type: 'object', ...part };
  const app = Fastify();
  app.post('/', { schema: { body: schema } }, ({ body }) => ({ got: JSON.stringify(body.a) }));
  const isValid = new Ajv().compile(schema);
  const cells = [];
  for (const a of values) {
    const response = await app.inject({ method: 'POST', url: '/', payload: { a } });
    const { got } = response.json();
    cells.push(got === JSON.stringify(a) ? '=' : `${got ?? response.statusCode}${isValid({ a }) ? ' !' : ''}`);
  }
  row([name, ...cells]);
}
END

measure() { "$node" "$folder/bodies.js"; }
check
