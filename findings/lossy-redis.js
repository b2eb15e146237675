import { once } from 'node:events';
import net from 'node:net';

/**
 * Starts a proxy that passes everything on to Redis and back, but closes the connection instead of a reply that is to be lost.
 *
 * @param {number} redisPort
 * @param {(command: Buffer, reply: Buffer) => boolean} isLost whether the reply to the latest command is to be lost
 * @returns {Promise<number>} the port of the proxy
 */
export async function startLossyProxy(redisPort, isLost) {
  const proxy = net.createServer((client) => {
    const redis = net.connect(redisPort, '127.0.0.1');
    /** @type {Buffer} */
    let command = Buffer.alloc(0);
    client.on('data', (data) => {
      command = data;
      redis.write(data);
    });
    redis.on('data', (reply) => {
      if (isLost(command, reply)) client.destroySoon();
      else client.write(reply);
    });
    client.on('error', () => {}).on('close', () => redis.end());
    redis.on('error', () => {}).on('close', () => client.end());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return /** @type {net.AddressInfo} */ (proxy.address()).port;
}
