import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { portOf } from '../testkit/port.ts';

const MAX_DELAY_MS = 400;
const MAX_CANCEL_DELAY_MS = 5000;
/** The share of responses before which a connection is cut. */
const CUT_SHARE = 0.02;

type Forward = (client: Socket, target: Socket, cut: () => void) => unknown;

const join: Forward = (client, target) => client.pipe(target).pipe(client);

/** What a proxy does to a connection, instead of forwarding it. */
const forwardWith = {
  'cut in the request': (client, target, cut) =>
    client.once('data', (chunk: Buffer) => target.write(firstHalf(chunk), cut)),
  'cut after the request': (client, target, cut) => {
    client.once('data', (chunk: Buffer) => target.write(chunk));
    client.once('data', () => setTimeout(cut, Math.random() * 20));
  },
  'cut in the response': (client, target, cut) => {
    client.pipe(target);
    target.once('data', (chunk: Buffer) => client.write(firstHalf(chunk), cut));
  },
  'swallow the response': (client, target) => {
    client.pipe(target);
    target.resume();
    // Without this, the client would see the end of the response.
    target.once('end', () => target.destroy());
  },
  delay: (...sockets) => setTimeout(join, Math.random() * MAX_DELAY_MS, ...sockets),
  'cut before a response': (client, target, cut) => {
    client.pipe(target);
    target.on('data', (chunk: Buffer) => (Math.random() < CUT_SHARE ? cut() : client.write(chunk)));
    target.once('end', () => client.end());
  },
  'delay a request to cancel': (client, target) =>
    client.once('data', (chunk: Buffer) => {
      if (!isCancel(chunk)) {
        target.write(chunk);
        client.pipe(target).pipe(client);
        return;
      }
      // It arrives even if its sender has left.
      setTimeout(() => target.end(chunk), Math.random() * MAX_CANCEL_DELAY_MS);
      target.pipe(client);
    }),
} satisfies Record<string, Forward>;

export type Fault = keyof typeof forwardWith;

/** A TCP proxy in front of a local port. `pick` chooses the fault of each connection, if any. */
export async function startFaultProxy(
  targetPort: number,
  pick: () => Fault | undefined = () => undefined,
) {
  let current = targetPort;
  const sockets = new Set<Socket>();
  const faults: Fault[] = [];
  const server = createServer((client) => {
    const target = connect(current, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.once('close', () => sockets.delete(socket));
    }
    const fault = pick();
    if (fault) faults.push(fault);
    const forward: Forward = fault ? forwardWith[fault] : join;
    forward(client, target, () => {
      client.resetAndDestroy();
      target.resetAndDestroy();
    });
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return portOf(server.address());
  };
  const port = await listen(0);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  closeAfterTest(() => {
    server.close();
    cut();
  });
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** The faults so far. */
    faults,
    /** Refuses new connections until `accept`. */
    refuse: () => server.close(),
    accept: () => listen(port),
    /** Leads to another port from now on, as a DNS name does, and cuts what leads elsewhere. */
    to(other: number) {
      current = other;
      cut();
    },
  };
}

function firstHalf(chunk: Buffer): Buffer {
  return chunk.subarray(0, chunk.length / 2);
}

/** Whether PostgreSQL is to cancel a statement: 16 bytes with this code. */
function isCancel(chunk: Buffer): boolean {
  return chunk.length === 16 && chunk.readInt32BE(4) === 80_877_102;
}
