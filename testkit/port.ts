import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** The port of a listening server. */
export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** Below the ports that systems assign to port 0, so that no other test is given this port. */
const UNASSIGNED_PORTS = [20_000, 32_768] as const;

/** A loopback port that no server listens on, and that only another call of this function can return. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(randomInt(...UNASSIGNED_PORTS), '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort(); // In use.
  }
  const port = portOf(server.address());
  server.close();
  await once(server, 'close');
  return port;
}
