# Shared by the scripts of this folder, which source it. Each script has the table that it expects in its first comment, in lines
# that begin with "#| ". `check` prints the table that it measures, and fails if it differs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
node=$here/../node_modules/.bin/node
[ -x "$node" ] || node=node
folder=$(mktemp -d)
pids=()

# Ends what the script has started.
clean_up() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
  [ -z "${lifeline:-}" ] || exec {lifeline}>&-
  wait 2> /dev/null || true
  rm -rf "$folder"
}
trap clean_up EXIT

# Names the Debian packages that are missing, and gives up. Does nothing if none is.
give_up_without() {
  (($# == 0)) && return
  echo "This needs the Debian packages: apt-get install $*" >&2
  exit 2
}

# Gives up without these commands. Each one is followed by its Debian package.
need() {
  local pair missing=()
  for pair in "$@"; do command -v "${pair%%:*}" > /dev/null || missing+=("${pair##*:}"); done
  give_up_without "${missing[@]}"
}

# Prints the versions of Debian packages, which may be newer than those in the comment. Gives up without them.
print_versions() {
  local package status missing=()
  for package in "$@"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2> /dev/null) || true
    [ "$status" = installed ] || missing+=("$package")
  done
  give_up_without "${missing[@]}"
  dpkg-query --show --showformat '${Package} ${Version}\n' "$@"
}

# Runs `measure`, prints its table, and compares it with the expected one.
check() {
  measure > "$folder/measured"
  cat "$folder/measured"
  if sed -n 's/^#| //p' "$0" | diff - "$folder/measured" > "$folder/difference"; then
    echo "As expected."
  else
    printf '\nThis has changed (< expected, > measured):\n'
    cat "$folder/difference"
    exit 1
  fi
}

# Installs packages of npm, with exact versions and without their scripts, in the temporary folder.
install_from_npm() {
  echo '{"type":"module"}' > "$folder/package.json"
  npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel error "$@" > /dev/null
  printf '%s\n' "$@"
}

# Starts the counting server. $server is its address.
start_server() {
  exec {lifeline}> >(exec "$node" "$here/counting-server.ts" > "$folder/port")
  wait_for test -s "$folder/port"
  server=127.0.0.1:$(cat "$folder/port")
}

# Runs a program of the temporary folder, which listens, and prints its port. $server is its address.
start_program() {
  echo '{"type":"module"}' > "$folder/package.json"
  "$node" "$folder/$1" "${@:2}" > "$folder/port" &
  pids+=($!)
  wait_for test -s "$folder/port"
  server=127.0.0.1:$(cat "$folder/port")
}

# Starts Redis, which saves nothing. $redis is its port.
start_redis() {
  free_port
  redis=$next_port
  redis-server --bind 127.0.0.1 --port "$redis" --save '' --dir "$folder" > "$folder/redis" &
  pids+=($!)
  wait_for redis-cli -p "$redis" ping
}

wait_for() {
  for _ in {1..150}; do
    "$@" > /dev/null 2>&1 && return
    sleep 0.1
  done
  echo "Waited too long for: $*" >&2
  tail -n 5 "$folder"/*/output >&2
  exit 2
}

# A port that no server listens on. $next_port is the first one that is tried.
next_port=$((20000 + $$ % 10000))
free_port() {
  next_port=$((next_port + 1))
  while (: < "/dev/tcp/127.0.0.1/$next_port") 2> /dev/null; do next_port=$((next_port + 1)); done
}

# How often a request has arrived.
count() { curl -s "$server/?reply=count&case=$1"; }

# Whether its first arrival was on a connection that had been used before.
is_kept() { [ "$(curl -s "$server/?reply=is-kept&case=$1")" = true ]; }
