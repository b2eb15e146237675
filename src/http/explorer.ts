import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A page for browsers, its assets, and what its content security policy allows besides `commonPolicy`. */
type Page = { html: string; assets?: Asset[]; policy: string[] };

/** A script or style of a page, which browsers keep for good: its URL has a hash of its content, and that never contains a token. */
type Asset = { url: string; type: string; gzipped: Promise<Buffer> };

/** Sends the page or one of its assets. Undefined if the request is for neither. */
export type Explorer = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply> | undefined;

const commonPolicy =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'";

const gzip = promisify<string, Buffer>(zlib.gzip);

/** Has a document for each operation, ready to run. */
const operationsFolder = new URL('../../examples/operations/', import.meta.url);

/**
 * The explorer at `GET /graphql`, preloaded with a document for every operation and with `headers`:
 * Apollo Sandbox, embedded from its CDN, or GraphiQL, served entirely by the gateway. The page and its assets are compressed
 * once with gzip, which every browser accepts.
 */
export async function createExplorer(
  kind: 'sandbox' | 'graphiql',
  headers: Record<string, string>,
): Promise<Explorer> {
  const documents = readdirSync(operationsFolder)
    .sort()
    .map((file) => readFileSync(new URL(file, operationsFolder), 'utf8'));
  const render = kind === 'sandbox' ? sandbox : graphiql;
  const { html, assets = [], policy } = await render(documents, headers);
  const page = gzip(html);
  return (request, reply) => {
    const asset = assets.find(({ url }) => url === request.url);
    if (!asset && !acceptsPage(request)) return undefined;
    if (asset) reply.header('cache-control', 'public, max-age=31536000, immutable');
    else reply.header('content-security-policy', [commonPolicy, ...policy].join('; '));
    reply.type(asset?.type ?? 'text/html; charset=utf-8');
    reply.header('content-encoding', 'gzip');
    return (asset?.gzipped ?? page).then((bytes) => reply.send(bytes));
  };
}

/**
 * Whether a browser requests a page rather than the result of a query. The page writes its query into the address, so a
 * query is executed only with a token, which a browser does not send when it opens an address.
 */
function acceptsPage({ method, headers, url }: FastifyRequest): boolean {
  const isQuery = headers.authorization !== undefined && /[?&]query=/.test(url);
  return method === 'GET' && headers.accept?.includes('text/html') === true && !isQuery;
}

function sandbox(documents: string[], headers: Record<string, string>): Page {
  const state = { document: documents.join('\n'), headers, includeCookies: false };
  const html = readPart('sandbox.html').replace('INITIAL_STATE', () => inScript(state));
  return {
    html,
    policy: [
      `script-src https://embeddable-sandbox.cdn.apollographql.com ${hashesOf('script', html)}`,
      `style-src ${hashesOf('style', html)}`,
      'frame-src https://sandbox.embed.apollographql.com',
    ],
  };
}

/** Without this element, a phone shows the page at the width of a desktop. */
const viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">';

/** After a reload, GraphiQL adds an empty tab, unless its storage has the query of the active tab. */
const keepTab = `try {
  const { tabs, activeTabIndex } = JSON.parse(localStorage['graphiql:tabState']);
  localStorage['graphiql:query'] ??= tabs[activeTabIndex].query ?? '';
} catch {} // There are no stored tabs.`;

async function graphiql(documents: string[], headers: Record<string, string>): Promise<Page> {
  // The package has nine megabytes, so it is loaded only if it is used.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const headersText = inScript(headers, 2);
  const page = renderGraphiQL({
    favicon: 'data:,', // Otherwise an icon of 114 KB.
    title: 'Ledger Gateway',
    endpoint: '/graphql',
    headers: headersText,
    shouldPersistHeaders: false,
    defaultTabs: documents.map((query) => ({ query, headers: headersText })),
  });
  const css = between(page, '<style>', '</style>');
  // The call behind the library has `headers`, which may be secret, so it stays in the page.
  const library = between(page, '<script>', 'YogaGraphiQL.render');
  const assets = [createAsset('text/css', css), createAsset('text/javascript', library)] as const;
  // The bar gives each mutation a key, offers to send it again with the same key, and shows the response's headers.
  const html = page
    .replace(`<style>${css}</style>`, `<link rel="stylesheet" href="${assets[0].url}">`)
    .replace(`<script>${library}`, `<script src="${assets[1].url}"></script><script>`)
    .replace('<head>', `<head>${viewport}<script>${keepTab}</script>`)
    .replace('<div id="root"></div>', (root) => `${root}\n${readPart('explorer-bar.html')}`);
  return {
    html,
    assets: [...assets],
    policy: [
      `script-src 'self' ${hashesOf('script', html)}`,
      'worker-src blob:',
      // The editor inserts its styles, which contain its icons and font.
      "style-src 'self' 'unsafe-inline'",
      'font-src data:',
      'img-src data:',
    ],
  };
}

/** An asset. A proxy that passes on exactly `/graphql` passes on its URL, too. */
function createAsset(type: string, content: string): Asset {
  const url = `/graphql?asset=${hash('sha256', content, 'base64url')}`;
  return { url, type: `${type}; charset=utf-8`, gzipped: gzip(content) };
}

/** The text between the first `start` and the next `end`. */
function between(text: string, start: string, end: string): string {
  const from = text.indexOf(start) + start.length;
  return text.slice(from, text.indexOf(end, from));
}

/** A file beside this one. */
function readPart(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

/** The sources of a policy that allow the inline scripts or styles of a page. */
function hashesOf(element: 'script' | 'style', html: string): string {
  const found = html.matchAll(new RegExp(`<${element}>(.*?)</${element}>`, 'gs'));
  const hashOf = (content: string) => `'sha256-${hash('sha256', content, 'base64')}'`;
  return Array.from(found, ([, content = '']) => hashOf(content)).join(' ');
}

/** A value as JSON that is safe in a script. */
function inScript(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll('<', '\\u003c');
}
