#!/usr/bin/env bash
# cjson of Redis and lua-cjson of Debian write numbers with 14 digits, which is fewer than JSON parsers of other languages keep: they write
# an id of 15 digits as another id, and drop the last digit of an amount of 13 digits with cents. There is no error, and
# `cjson.encode_number_precision` allows no more than 14. In the same script of Redis, the same number is exact as the argument of a
# command. An empty array becomes an object.
#
# How to read the table: "cjson": the number that `cjson.encode(cjson.decode(...))` makes of JSON. "text": `tostring()`, or `..` with a
# text, as in the name of a key. "SET": what a command of Redis gets, if the script gives it the number. "reply": what the script returns.
# "[]": what cjson makes of an empty array.
#
# Seen on 2026-11-29 with Debian 12: redis-server 7.0.15, lua-cjson 2.1.0, lua5.1 5.1.5 and lua5.4 5.4.4.
#
#|                   12345678901234    100000000000001       123456789012345       1234567890123.45      []
#| Redis, cjson      12345678901234    1e+14                 1.2345678901234e+14   1234567890123.4       {}
#| Redis, text       12345678901234    1e+14                 1.2345678901234e+14   1234567890123.4
#| Redis, SET        12345678901234    100000000000001       123456789012345       1234567890123.45
#| Redis, reply      12345678901234    100000000000001       123456789012345       1234567890123
#| lua5.1, cjson     12345678901234    1e+14                 1.2345678901234e+14   1234567890123.4       {}
#| lua5.4, cjson     12345678901234    1e+14                 1.2345678901234e+14   1234567890123.4       {}
. "$(dirname "$0")/common.sh"

need redis-server:redis-server redis-cli:redis-tools lua5.1:lua5.1 lua5.4:lua5.4
print_versions redis-server lua-cjson lua5.1 lua5.4
start_redis

numbers=(12345678901234 100000000000001 123456789012345 1234567890123.45)
cjson="cjson.encode(cjson.decode('{\"n\":' .. ARGV[1] .. '}')):match(':(.*)}')"

# row NAME HOW CODE ARGUMENT…
row() {
  local argument cells=()
  for argument in "${@:4}"; do cells+=("$("$2" "$3" "$argument")"); done
  print_row "$1" "${cells[@]}"
}
print_row() {
  local cells=("$@" '')
  printf '%-17s %-17s %-21s %-21s %-21s %s\n' "${cells[@]:0:6}" | sed 's/ *$//'
}
in_redis() { redis-cli -p "$redis" eval "$1" 0 "$2"; }
in_lua() {
  echo "cjson = require 'cjson' ARGV = arg print((function() $1 end)())" > "$folder/run.lua"
  "$lua" "$folder/run.lua" "$2"
}

measure() {
  print_row '' "${numbers[@]}" '[]'
  row 'Redis, cjson' in_redis "return $cjson" "${numbers[@]}" '[]'
  row 'Redis, text' in_redis 'return tostring(tonumber(ARGV[1]))' "${numbers[@]}"
  row 'Redis, SET' in_redis "redis.call('SET', 'n', tonumber(ARGV[1])) return redis.call('GET', 'n')" "${numbers[@]}"
  row 'Redis, reply' in_redis 'return tonumber(ARGV[1])' "${numbers[@]}"
  for lua in lua5.1 lua5.4; do row "$lua, cjson" in_lua "return $cjson" "${numbers[@]}" '[]'; done
}
check
