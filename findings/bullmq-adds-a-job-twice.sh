#!/usr/bin/env bash
# BullMQ and Bull add a job again if the connection to Redis is lost before the reply to `add()`. The call succeeds with the last job, so
# nothing shows that workers get the job several times. The reason is ioredis, which sends the command again. A `jobId` of one's own
# prevents it.
#
# How to read the table: how many jobs are in the queue after one call, and its result. "1 lost": the connection is closed instead of the
# first reply. "5 lost": instead of the first five replies.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: redis-server 5:7.0.15-1~deb12u10.
#
#|                           1 lost     5 lost
#| BullMQ 6.7.0, add()       2 done     6 done
#| BullMQ, add() with jobId  1 done     1 done
#| BullMQ, addBulk()         2 done     6 done
#| Bull 4.16.5, add()        2 done     6 done
#| Bull, add() with jobId    1 done     1 done
. "$(dirname "$0")/common.sh"

need npm:npm redis-server:redis-server redis-cli:redis-tools
print_versions redis-server
install_from_npm bullmq@6.7.0 bull@4.16.5

start_redis

cat > "$folder/queues.js" <<'END'
import Bull from 'bull';
import { Queue } from 'bullmq';

const [redis, here] = process.argv.slice(2);
const { startLossyProxy } = await import(`${here}/lossy-redis.js`);

// How many of the next replies to a script that adds "a job" are lost.
let lost = 0;
const isLost = (command, reply) => {
  if (!command.includes('a job') || reply.toString().startsWith('-') || lost === 0) return false;
  lost--;
  return true;
};
const connection = { host: '127.0.0.1', port: await startLossyProxy(Number(redis), isLost) };

const bullmq = (name) => new Queue(name, { connection });
const bull = (name) => new Bull(name, { redis: connection });
const calls = {
  'BullMQ 6.7.0, add()': [bullmq, (queue) => queue.add('a job', {})],
  'BullMQ, add() with jobId': [bullmq, (queue) => queue.add('a job', {}, { jobId: 'mine' })],
  'BullMQ, addBulk()': [bullmq, (queue) => queue.addBulk([{ name: 'a job', data: {} }])],
  'Bull 4.16.5, add()': [bull, (queue) => queue.add('a job', {})],
  'Bull, add() with jobId': [bull, (queue) => queue.add('a job', {}, { jobId: 'mine' })],
};

console.log(`${''.padEnd(26)}1 lost     5 lost`);
for (const [name, [create, add]] of Object.entries(calls)) {
  const cells = [];
  for (const number of [1, 5]) {
    const queue = create(`${name} ${number}`.replace(/\W+/g, '-'));
    queue.on('error', () => {});
    await queue.add('earlier', {});
    lost = number;
    const result = await add(queue).then(
      () => 'done',
      () => 'error',
    );
    lost = 0;
    const { waiting } = await queue.getJobCounts();
    cells.push(`${waiting - 1} ${result}`.padEnd(11));
  }
  console.log(`${name.padEnd(26)}${cells.join('')}`.trimEnd());
}
process.exit();
END

measure() { timeout 60 "$node" "$folder/queues.js" "$redis" "$here" 2> "$folder/errors"; }
check
