#!/usr/bin/env bash
# A transaction of Redis with WATCH fails if another client has changed the key, so that no change is lost. If the connection is lost before
# MULTI, ioredis, iovalkey and redis-rb connect again by themselves, and send MULTI, the commands and EXEC on a new connection, which
# watches nothing. So the transaction succeeds, and overwrites the change of the other client. redis of npm fails when it has noticed the
# loss. In the moment before, its transaction may succeed as well, which the table does not show. The clients of the other rows fail.
#
# How to read the table: the program watches and reads `stock`, which is 10, and writes 9 in a transaction. In between, another client sets
# it to 5. "kept": the connection is kept. "lost": Redis closes it, 0.2 s before the transaction. "saved": the transaction succeeds.
# "nothing": its result says that it was not executed. "error": an exception. The number is the stock afterwards: 5 is right, and 9 has
# lost the change of the other client.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: redis-server 5:7.0.15-1~deb12u10, ruby-redis
# 4.8.0-1, python3-redis 4.3.4-3, php-redis 5.3.7+4.3.0-3, php-predis 1.1.10-2, libredis-perl 2:2.000-1.
#
#|                  kept         lost
#| ioredis 6.0.0    nothing 5    saved   9
#| iovalkey 0.4.0   nothing 5    saved   9
#| redis 6.3.1      error   5    error   5
#| redis-rb         nothing 5    saved   9
#| redis-py         error   5    error   5
#| phpredis         nothing 5    error   5
#| Predis           nothing 5    error   5
#| Redis of Perl    nothing 5    error   5
. "$(dirname "$0")/common.sh"

need npm:npm redis-server:redis-server redis-cli:redis-tools ruby:ruby-redis php:php-redis perl:libredis-perl python3:python3-redis
print_versions redis-server redis-tools ruby-redis python3-redis php-redis php-predis libredis-perl
install_from_npm ioredis@6.0.0 iovalkey@0.4.0 redis@6.3.1

start_redis

# The other client. With `lost`, Redis closes all connections but this one.
cat > "$folder/other" <<END
redis-cli -p $redis set stock 5
[ "\$1" = kept ] || redis-cli -p $redis client kill type normal
sleep 0.2
END

# Each program gets `PORT OTHER`, where OTHER is the command of the other client. The programs for several clients get a name before it.
cat > "$folder/by.js" <<'END'
import { exec } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';

const [name, port, other] = process.argv.slice(2);
const clients = {
  ioredis: () => new Redis({ port }),
  iovalkey: () => new Valkey({ port }),
  redis: () => createClient({ socket: { port } }),
};
const client = clients[name]();
client.on('error', () => {});
if (name === 'redis') await client.connect();
await client.watch('stock');
const stock = Number(await client.get('stock'));
await promisify(exec)(other);
const result = await client.multi().set('stock', String(stock - 1)).exec();
console.log(result ? 'saved' : 'nothing');
process.exit();
END
cat > "$folder/by.rb" <<'END'
require 'redis'
redis = Redis.new(port: ARGV[0].to_i)
result = redis.watch('stock') do
  stock = redis.get('stock').to_i
  system(ARGV[1], out: File::NULL)
  redis.multi { |transaction| transaction.set('stock', stock - 1) }
end
puts result ? 'saved' : 'nothing'
END
cat > "$folder/by.py" <<'END'
import os, redis, sys
client = redis.Redis(port=int(sys.argv[1]))
with client.pipeline() as pipeline:
    pipeline.watch('stock')
    stock = int(pipeline.get('stock'))
    os.system(sys.argv[2] + ' > /dev/null')
    pipeline.multi()
    pipeline.set('stock', stock - 1)
    print('saved' if pipeline.execute() else 'nothing')
END
cat > "$folder/by.php" <<'END'
<?php
[, $name, $port, $other] = $argv;
if ($name === 'predis') {
  require 'Predis/autoload.php';
  $redis = new Predis\Client(['port' => (int) $port]);
} else {
  $redis = new Redis();
  $redis->connect('127.0.0.1', (int) $port);
}
$redis->watch('stock');
$stock = (int) $redis->get('stock');
exec($other);
$redis->multi();
$redis->set('stock', $stock - 1);
echo $redis->exec() ? 'saved' : 'nothing';
END
cat > "$folder/by.pl" <<'END'
use Redis;
my $redis = Redis->new(server => "127.0.0.1:$ARGV[0]", reconnect => 5);
$redis->watch('stock');
my $stock = $redis->get('stock');
system("$ARGV[1] > /dev/null");
$redis->multi;
$redis->set('stock', $stock - 1);
print $redis->exec ? 'saved' : 'nothing';
END

row() {
  local case result cells=''
  for case in kept lost; do
    redis-cli -p "$redis" set stock 10 > /dev/null
    result=$(timeout 60 "${@:2}" "$redis" "sh $folder/other $case" 2> /dev/null) || result=error
    cells+=$(printf ' %-7s %s   ' "$result" "$(redis-cli -p "$redis" get stock)")
  done
  printf '%-16s%s\n' "$1" "$cells" | sed 's/ *$//'
}

measure() {
  printf '%-16s %-12s %s\n' '' kept lost
  row 'ioredis 6.0.0' "$node" "$folder/by.js" ioredis
  row 'iovalkey 0.4.0' "$node" "$folder/by.js" iovalkey
  row 'redis 6.3.1' "$node" "$folder/by.js" redis
  row 'redis-rb' /usr/bin/ruby "$folder/by.rb"
  row 'redis-py' /usr/bin/python3 "$folder/by.py"
  row 'phpredis' php "$folder/by.php" phpredis
  row 'Predis' php "$folder/by.php" predis
  row 'Redis of Perl' perl "$folder/by.pl"
}
check
