#!/usr/bin/env bash
# What parsers of YAML make of a value without quotes. A short commit id such as `12e3456` is infinity in js-yaml 4 and yaml, `1234e56` is a
# number in Go, too, and `0123456` loses its zero in JavaScript and is octal elsewhere. The mapping of ports `22:22` is 1342 in PyYAML and
# 80520 in Ruby. The file mode `0644` is 644 in JavaScript and 420 in the others. js-yaml 5 differs from js-yaml 4. So a file that one
# tool has checked means something else in another one, without an error. A value in quotes is a text in all of them.
#
# How to read the table: the value after loading, or "text" if it is the same text. "date": an object for a date. "yaml 1.1" is the package
# yaml with `version: '1.1'`. The others have their defaults.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: python3-yaml 6.0-3+b2, ruby3.1
# 3.1.7+really3.1.2-0+deb12u1, golang-gopkg-yaml.v2-dev 2.4.0-4.
#
#|             js-yaml 5  js-yaml 4  yaml       yaml 1.1   PyYAML     Ruby       Go yaml.v2
#| 1234e56     1.234e+59  1.234e+59  1.234e+59  1.234e+59  text       text       1.234e+59
#| 12e3456     text       Infinity   Infinity   Infinity   text       text       text
#| 0123456     123456     123456     123456     42798      42798      42798      42798
#| 0123489     123489     123489     123489     123489     text       text       123489
#| 0644        644        644        644        420        420        420        420
#| 0o644       420        420        420        text       text       text       420
#| 22:22       text       text       text       1342       1342       80520      text
#| 12:30:45    text       text       text       45045      45045      45045      text
#| 1_000       text       1000       text       1000       1000       1000       1000
#| 1e3         1000       1000       1000       1000       text       text       1000
#| 2026-11-29  text       date       text       date       date       date       text
#| yes         text       text       text       true       true       true       true
#| y           text       text       text       true       text       text       true
#| "0644"      0644       0644       0644       0644       0644       0644       0644
. "$(dirname "$0")/common.sh"

need npm:npm python3:python3 ruby:ruby go:golang-go
print_versions python3-yaml ruby3.1 golang-gopkg-yaml.v2-dev
install_from_npm js-yaml@5.5.0 js-yaml-4@npm:js-yaml@4.1.1 yaml@2.9.1

values=(1234e56 12e3456 0123456 0123489 0644 0o644 22:22 12:30:45 1_000 1e3 2026-11-29 yes y '"0644"')

cat > "$folder/load.js" <<'END'
import { load } from 'js-yaml';
import js4 from 'js-yaml-4';
import { parse } from 'yaml';

const loaders = { 'js-yaml 5': load, 'js-yaml 4': js4.load, yaml: parse, 'yaml 1.1': (text) => parse(text, { version: '1.1' }) };
const [name, ...values] = process.argv.slice(2);
for (const value of values) {
  const loaded = loaders[name](`key: ${value}`).key;
  console.log(loaded === value ? 'text' : loaded instanceof Date ? 'date' : String(loaded));
}
END
cat > "$folder/load.py" <<'END'
import datetime, sys, yaml

for value in sys.argv[1:]:
    loaded = yaml.safe_load(f'key: {value}')['key']
    print('text' if loaded == value else 'date' if isinstance(loaded, datetime.date) else str(loaded).replace('True', 'true'))
END
cat > "$folder/load.rb" <<'END'
require 'date'
require 'yaml'
ARGV.each do |value|
  loaded = YAML.load("key: #{value}", permitted_classes: [Date])['key']
  puts loaded == value ? 'text' : loaded.is_a?(Date) ? 'date' : loaded.to_s
end
END
cat > "$folder/load.go" <<'END'
package main

import (
	"fmt"
	"os"

	"gopkg.in/yaml.v2"
)

func main() {
	for _, value := range os.Args[1:] {
		var loaded map[string]interface{}
		if err := yaml.Unmarshal([]byte("key: "+value), &loaded); err != nil {
			panic(err)
		}
		if loaded["key"] == value {
			fmt.Println("text")
		} else {
			fmt.Println(loaded["key"])
		}
	}
}
END
GOCACHE=$folder/go-cache GOPATH=/usr/share/gocode GO111MODULE=off go build -o "$folder/load-go" "$folder/load.go"

measure() {
  local column columns=('js-yaml 5' 'js-yaml 4' yaml 'yaml 1.1' PyYAML Ruby 'Go yaml.v2')
  printf '%s\n' '' "${values[@]}" > "$folder/column"
  for column in "${columns[@]}"; do
    {
      echo "$column"
      case $column in
        PyYAML) /usr/bin/python3 "$folder/load.py" "${values[@]}" ;;
        Ruby) ruby "$folder/load.rb" "${values[@]}" ;;
        Go*) "$folder/load-go" "${values[@]}" ;;
        *) "$node" "$folder/load.js" "$column" "${values[@]}" ;;
      esac
    } > "$folder/column-$column"
  done
  paste "$folder/column" "${columns[@]/#/"$folder/column-"}" |
    awk -F '\t' '{ line = sprintf("%-11s", $1); for (i = 2; i <= NF; i++) line = line sprintf(" %-10s", $i); sub(/ +$/, "", line); print line }'
}
check
