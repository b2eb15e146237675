#!/usr/bin/env bash
# A commit of PostgreSQL that waits for a synchronous standby has no time limit. `statement_timeout` does not end it, and
# `client_connection_check_interval` does not end the session of a client that has left. So if the clients of a program have a timeout of
# their own, their sessions stay until all connections are taken, and then nobody but a superuser can connect. A cancel request, as psql
# sends it for Ctrl-C, ends the wait: the statement then succeeds with a warning, although no standby has the row.
#
# How to read the table: what has become of a statement after two seconds, while `synchronous_standby_names` names a standby that does not
# exist. "sleep" is `SELECT pg_sleep(60)`, and "insert" an INSERT. "statement_timeout" is 300 ms. "client has left": psql was killed.
# `client_connection_check_interval` is 200 ms. "rows": what another session sees of the inserted row. "cancelled": what psql prints after
# `pg_cancel_backend`. "terminated": after `pg_terminate_backend`. "ten clients have left": what psql prints for `SELECT 1` if ten sessions
# of clients that have left wait, and `max_connections` is 13.
#
# Seen on 2026-11-29 with Debian 12: postgresql-15 15.18-0+deb12u1.
#
#| sleep, statement_timeout     ERROR 57014
#| sleep, client has left       ended
#| insert, statement_timeout    waits, SyncRep
#| insert, client has left      waits, SyncRep
#| rows                         0
#| insert, cancelled            WARNING 01000, INSERT 0 1
#| rows                         1
#| insert, terminated           WARNING 57P01, connection to server was lost
#| rows                         1
#| ten clients have left        FATAL, remaining connection slots are reserved for non-replication superuser connections
. "$(dirname "$0")/common.sh"

bin=/usr/lib/postgresql/15/bin
need psql:postgresql-client-15 "$bin/initdb:postgresql-15"
print_versions postgresql-15

# PostgreSQL does not start as root.
as_postgres=()
if ((UID == 0)); then
  as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups)
  chmod 711 "$folder"
fi
mkdir "$folder/data"
((UID != 0)) || chown postgres "$folder/data"
"${as_postgres[@]}" "$bin/initdb" --auth trust --username postgres --no-sync --pgdata "$folder/data" > /dev/null
free_port
export PGHOST=127.0.0.1 PGPORT=$next_port PGUSER=postgres PGDATABASE=postgres
"${as_postgres[@]}" "$bin/postgres" -D "$folder/data" -h "$PGHOST" -p "$PGPORT" -k '' -c fsync=off -c max_connections=13 \
  -c superuser_reserved_connections=3 -c client_connection_check_interval=200 > "$folder/output" 2>&1 &
postgres=$!
# Otherwise, PostgreSQL waits for the sessions.
trap 'kill -QUIT "$postgres"; clean_up' EXIT
wait_for psql -c 'SELECT 1'
ask() { psql -XqAtc "$1"; }
ask 'CREATE TABLE entry (id int); CREATE ROLE program LOGIN; GRANT INSERT ON entry TO program'
ask "ALTER SYSTEM SET synchronous_standby_names = 'away'" && ask 'SELECT pg_reload_conf()' > /dev/null

# `begin NUMBER STATEMENT`: executes it in a session with the number in its name. $client is the process of psql.
begin() {
  PGUSER=program PGAPPNAME=program-$1 psql -X -v VERBOSITY=verbose -c "$2" > "$folder/result-$1" 2>&1 &
  client=$!
  pids+=("$client")
  disown "$client"
}
# What the session waits for, or what psql has printed, in one line.
state_of() {
  local state
  state=$(ask "SELECT wait_event FROM pg_stat_activity WHERE state = 'active' AND application_name = 'program-$1'")
  if [ -n "$state" ]; then echo "waits, $state"; elif [ -s "$folder/result-$1" ]; then result_of "$1"; else echo ended; fi
}
result_of() {
  sed -nE 's/^(ERROR|WARNING):  (\w+): .*/\1 \2/p; s/.*(FATAL): */\1\n/p; /^INSERT|^connection to/p' "$folder/result-$1" | paste -sd ';' | sed 's/;/, /g'
}
has_commit_waiting() { [ "$(state_of "$1")" = 'waits, SyncRep' ]; }
count_rows() { ask "SELECT count(*) FROM entry WHERE id = $1"; }
# `end NUMBER FUNCTION`: calls the function with the process of the session.
end() {
  ask "SELECT $2(pid) FROM pg_stat_activity WHERE application_name = 'program-$1'" > /dev/null
  wait_for test -s "$folder/result-$1"
}
line() { printf '%-28s %s\n' "$1" "$2" | sed 's/ *$//'; }

measure() {
  export PGOPTIONS='-c statement_timeout=300'
  begin 1 'SELECT pg_sleep(60)'
  begin 2 'INSERT INTO entry VALUES (2)'
  unset PGOPTIONS
  begin 3 'SELECT pg_sleep(60)'
  sleeping=$client
  begin 4 'INSERT INTO entry VALUES (4)'
  begin 5 'INSERT INTO entry VALUES (5)'
  wait_for has_commit_waiting 5
  kill -KILL "$sleeping" "$client"
  sleep 2
  line 'sleep, statement_timeout' "$(state_of 1)"
  line 'sleep, client has left' "$(state_of 3)"
  line 'insert, statement_timeout' "$(state_of 2)"
  line 'insert, client has left' "$(state_of 5)"
  line 'rows' "$(count_rows 2)"
  end 2 pg_cancel_backend
  line 'insert, cancelled' "$(state_of 2)"
  line 'rows' "$(count_rows 2)"
  end 4 pg_terminate_backend
  line 'insert, terminated' "$(state_of 4)"
  line 'rows' "$(count_rows 4)"
  for number in {11..19}; do
    begin "$number" "INSERT INTO entry VALUES ($number)"
    wait_for has_commit_waiting "$number"
    kill -KILL "$client"
  done
  sleep 2
  begin 20 'SELECT 1'
  wait_for test -s "$folder/result-20"
  line 'ten clients have left' "$(state_of 20)"
}
check
