import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startTcp } from '../../../../testkit/tcp-server.ts';

/** The code of a request to cancel in the protocol of PostgreSQL. */
const CANCEL = 80_877_102;

/** A message of a PostgreSQL server that reports an error. */
export function errorMessage(severity: 'FATAL' | 'PANIC', code: string): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0Mfails for "secret"\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from('E'), length, fields]);
}

/** Forwards connections to a PostgreSQL server, and is a network with faults. It stops after the test. */
export async function startPostgresProxy(server: { port: number }) {
  const state = {
    server,
    /** Loses a reply that has this text, with its connection. */
    losing: undefined as string | undefined,
    /** What the server says instead. */
    lastWords: Buffer.alloc(0) as Buffer,
    /** Requests to cancel arrive when the test delivers them. */
    holdsCancels: false,
    /** The requests to cancel, with their connections. */
    cancels: [] as { request: Buffer; socket: Socket }[],
    /** Delivers the first request to cancel. Resolves when the server has received it. */
    async deliverCancel(): Promise<void> {
      const socket = connect(state.server.port, '127.0.0.1').resume();
      socket.write(state.cancels[0]?.request ?? '');
      await once(socket, 'close');
    },
  };
  const { url } = await startTcp(async (socket) => {
    const [request] = await once(socket, 'data');
    const isCancel = request.readInt32BE(4) === CANCEL;
    if (isCancel) state.cancels.push({ request, socket });
    if (isCancel && state.holdsCancels) return;
    const upstream = connect(state.server.port, '127.0.0.1').on('error', () => {});
    upstream.write(request);
    socket.pipe(upstream).on('data', (data) => {
      const isLost = state.losing !== undefined && data.includes(state.losing);
      if (isLost) state.losing = undefined;
      socket.write(isLost ? state.lastWords : data);
      if (isLost) upstream.destroy();
    });
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  });
  const port = Number(new URL(url).port);
  return Object.assign(state, { port, url: `postgres://postgres@127.0.0.1:${port}/postgres` });
}
