import { Client } from 'undici';
import type { Transport } from './duties.ts';

/** How long a connection rests after an exchange, in milliseconds. */
const REST_MS = 50;

/**
 * Creates the connections to the service, which all callers share. As in ledger-gateway, a connection rests after each exchange, so that
 * a surplus response, which may have the data of another caller, reaches nobody: undici closes an idle connection on which
 * something arrives. The one that was idle for longest is used first.
 */
export function createConnections(baseUrl: URL): Transport {
  const idle: { client: Client; since: number }[] = [];
  const acquire = () => {
    const hasRested = idle[0] && performance.now() - idle[0].since >= REST_MS;
    return (hasRested && idle.shift()?.client) || new Client(baseUrl.origin);
  };
  return async ({ path, headers, signal }) => {
    const client = acquire();
    try {
      const request = { method: 'GET', path: baseUrl.pathname + path, headers, signal } as const;
      const { statusCode: status, body } = await client.request(request);
      const reply = { status, body: await body.json() };
      idle.push({ client, since: performance.now() });
      return reply;
    } catch (error) {
      client.destroy(() => {});
      throw error;
    }
  };
}
