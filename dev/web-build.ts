import { createReadStream } from 'node:fs';
import { basename, extname, join } from 'node:path';
import Fastify, { type FastifyReply } from 'fastify';
import type { WebApp } from './web-app.ts';

const contentTypes: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.csv': 'text/csv',
};

/** Serves what `vite build` wrote into a folder, at localhost, where browsers allow a page to create keys. Port 0 selects any free one. */
export async function serveWebBuild(folder: string, host: string, port: number): Promise<WebApp> {
  const app = Fastify({ forceCloseConnections: true });
  app.get('/', async (_, reply) => send(reply, 'index.html'));
  app.get('/assets/:name', async ({ url }, reply) => send(reply, join('assets', basename(url))));

  function send(reply: FastifyReply, path: string) {
    const type = contentTypes[extname(path)] ?? 'text/plain';
    return reply.type(type).send(createReadStream(join(folder, path)));
  }

  const url = new URL(await app.listen({ host, port }));
  return { url: `http://localhost:${url.port}`, close: () => app.close() };
}
