#!/usr/bin/env bash
# ioredis, iovalkey and redis-rb send a command again if the connection is lost before its reply, without an error or a warning. So Redis
# may execute an INCR twice. redis-rb does this once. In ioredis and iovalkey, `maxRetriesPerRequest` (20 by default) sets no limit,
# because each successful connection starts its count again.
#
# How to read the table: how often Redis executes one INCR, and the result that the program gets. "1 lost": the connection is closed
# instead of the first reply. "30 lost": instead of the first thirty replies.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: redis-server 5:7.0.15-1~deb12u10, ruby-redis
# 4.8.0-1, python3-redis 4.3.4-3, php-redis 5.3.7+4.3.0-3, php-predis 1.1.10-2, libredis-perl 2:2.000-1.
#
#|                                      1 lost      30 lost
#| ioredis 6.0.0                           2 2        31 31
#| ioredis, maxRetriesPerRequest: 1        2 2        31 31
#| iovalkey 0.4.0                          2 2        31 31
#| redis 6.3.1                             1 error     1 error
#| redis-rb                                2 2         2 error
#| redis-py                                1 error     1 error
#| phpredis                                1 error     1 error
#| Predis                                  1 error     1 error
#| Redis of Perl                           1 error     1 error
#| redis-cli                               1 error     1 error
. "$(dirname "$0")/common.sh"

need npm:npm redis-server:redis-server redis-cli:redis-tools ruby:ruby-redis php:php-redis perl:libredis-perl python3:python3-redis
print_versions redis-server redis-tools ruby-redis python3-redis php-redis php-predis libredis-perl
install_from_npm ioredis@6.0.0 iovalkey@0.4.0 redis@6.3.1

start_redis

# Loses the first replies to an increment: a key `N-NAME` loses N.
cat > "$folder/lossy.js" <<'END'
const [redis, here] = process.argv.slice(2);
const { startLossyProxy } = await import(`${here}/lossy-redis.js`);
const left = new Map();
const isLost = (command) => {
  const key = /incr\w*\r\n\$\d+\r\n(\d+-\S+)/i.exec(command)?.[1];
  const replies = left.get(key) ?? Number.parseInt(key, 10);
  left.set(key, replies - 1);
  return replies > 0;
};
console.log(await startLossyProxy(Number(redis), isLost));
END
start_program lossy.js "$redis" "$here"
port=${server#*:}

# Each program gets `PORT KEY`, connects, and increments the key.
cat > "$folder/by.js" <<'END'
import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';

const [name, port, key] = process.argv.slice(2);
const clients = {
  ioredis: () => new Redis({ port }),
  one: () => new Redis({ port, maxRetriesPerRequest: 1 }),
  iovalkey: () => new Valkey({ port }),
  redis: () => createClient({ socket: { port } }),
};
const client = clients[name]();
client.on('error', () => {});
if (name === 'redis') await client.connect();
await client.ping();
console.log(await client.incr(key).catch(() => 'error'));
process.exit();
END
cat > "$folder/by.rb" <<'END'
require 'redis'
redis = Redis.new(port: ARGV[0].to_i)
redis.ping
puts redis.incr(ARGV[1])
END
cat > "$folder/by.py" <<'END'
import redis, sys
client = redis.Redis(port=int(sys.argv[1]))
client.ping()
print(client.incr(sys.argv[2]))
END
cat > "$folder/by.php" <<'END'
<?php
$redis = new Redis();
$redis->connect('127.0.0.1', (int) $argv[1]);
$redis->ping();
echo $redis->incr($argv[2]);
END
cat > "$folder/by-predis.php" <<'END'
<?php
require 'Predis/autoload.php';
$redis = new Predis\Client(['port' => (int) $argv[1]]);
$redis->ping();
echo $redis->incr($argv[2]);
END
cat > "$folder/by.pl" <<'END'
use Redis;
my $redis = Redis->new(server => "127.0.0.1:$ARGV[0]", reconnect => 5);
$redis->ping;
print $redis->incr($ARGV[1]);
END

row() {
  local lost key result cells=''
  for lost in 1 30; do
    number=$((${number:-0} + 1))
    key=$lost-$number
    result=$(timeout 60 "${@:2}" "$port" "$key" 2> /dev/null) || result=error
    cells+=$(printf ' %4s %-6s' "$(redis-cli -p "$redis" get "$key")" "$result")
  done
  printf '%-36s%s\n' "$1" "$cells" | sed 's/ *$//'
}

measure() {
  printf '%-36s %-11s %s\n' '' '1 lost' '30 lost'
  row 'ioredis 6.0.0' "$node" "$folder/by.js" ioredis
  row 'ioredis, maxRetriesPerRequest: 1' "$node" "$folder/by.js" one
  row 'iovalkey 0.4.0' "$node" "$folder/by.js" iovalkey
  row 'redis 6.3.1' "$node" "$folder/by.js" redis
  row 'redis-rb' /usr/bin/ruby "$folder/by.rb"
  row 'redis-py' /usr/bin/python3 "$folder/by.py"
  row 'phpredis' php "$folder/by.php"
  row 'Predis' php "$folder/by-predis.php"
  row 'Redis of Perl' perl "$folder/by.pl"
  row 'redis-cli' sh -c 'redis-cli -p "$0" incr "$1"'
}
check
