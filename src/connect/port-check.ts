import { createServer } from 'node:net';
import { codeOf } from './network-fault.ts';

/** Checks whether this process could listen on a port, and closes it again. Returns the faults. */
export async function checkPort(variable: string, port: number, host: string): Promise<string[]> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<string[]>();
  server.once('error', (error) => resolve([faultOf(codeOf(error), variable, port, host)]));
  server.listen({ port, host }, () => server.close(() => resolve([])));
  return promise;
}

function faultOf(code: string, variable: string, port: number, host: string): string {
  const meanings: Record<string, string> = {
    EADDRINUSE: `${variable} ${port}: it is in use. Write a free port, or end the process that listens there`,
    EACCES: `${variable} ${port}: this user may not listen there. Write a port from 1024 on`,
    EADDRNOTAVAIL: `HOST ${host}: it is no address of this machine. Write 0.0.0.0, or an address of this machine`,
    ENOTFOUND: `HOST ${host}: the name does not resolve. Write 0.0.0.0, or an address of this machine`,
  };
  return `${meanings[code] ?? `${variable} ${port}: it cannot be used`} (${code})`;
}
