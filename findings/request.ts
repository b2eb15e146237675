import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';

/**
 * `node request.ts METHOD URL FURTHER…`: sends the further requests, each a GET, and then this one, on one connection. Prints its
 * status, or `-` if the connection closes without a byte. `http` of Node never repeats a request, as many other clients do.
 */
const [method = 'GET', url = '', ...before] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

async function send(to: string, how: string): Promise<string> {
  const headers = how === 'POST' ? { 'content-type': 'application/json' } : {};
  const sent = request(to, { method: how, agent, headers });
  sent.end(how === 'POST' ? '{"a":1}' : undefined);
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    for await (const _ of response.on('error', () => {}));
    return String(response.statusCode);
  } catch {
    return '-';
  }
}

for (const earlier of before) await send(earlier, 'GET');
process.stdout.write(await send(url, method));
agent.destroy();
