#!/usr/bin/env bash
# Grafbase rejects documents whose variables have a default of a list or an integer for an ID, which the GraphQL specification allows.
# It checks the default of a list as if each item were a list, and the default of an ID as if it had to be a text.
#
# How to read the table: whether `{ a(…) }` with a variable of this type and default is executed (`ok`) or rejected.
#
# Seen on 2026-11-29 with Grafbase 0.103.0 on Linux and x64.
#
#| $record: Record = { n: 1 }         ok
#| $list: [Int!]                      ok
#| $list: [Int!] = [1]                rejected
#| $records: [Record!] = [{ n: 1 }]   rejected
#| $id: ID = "1"                      ok
#| $id: ID = 1                        rejected
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @grafbase/cli-x86_64-unknown-linux-musl@0.103.0
start_server

cat > "$folder/a.graphql" <<'END'
type Query { a(list: [Int!], record: Record, records: [Record!], id: ID): Int }
input Record { n: Int }
END
cat > "$folder/grafbase.toml" <<END
[subgraphs.a]
url = "http://$server/"
schema_path = "a.graphql"
END
free_port
address=127.0.0.1:$next_port
(cd "$folder" && exec node_modules/@grafbase/cli-x86_64-unknown-linux-musl/grafbase --home . dev --listen-address "$address" > output 2>&1) &
pids+=($!)
wait_for grep -q /graphql "$folder/output"

measure() {
  local pair variable argument response
  for pair in 'record: Record = { n: 1 }' 'list: [Int!]' 'list: [Int!] = [1]' 'records: [Record!] = [{ n: 1 }]' 'id: ID = "1"' 'id: ID = 1'; do
    argument=${pair%%:*}
    variable=${pair//\"/\\\"}
    response=$(curl -s "http://$address/graphql" -H 'content-type: application/json' \
      --data "{\"query\":\"query (\$$variable) { a($argument: \$$argument) }\"}")
    case $response in *'"errors"'*) response=rejected ;; *) response=ok ;; esac
    printf '%-34s %s\n' "\$$pair" "$response"
  done
}
check
