import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A page for browsers, with a content security policy that allows only what the page needs. */
type Page = { html: string; contentSecurityPolicy: string };

/** The page, compressed once it is asked for: every response sends the same bytes. */
export type Explorer = Omit<Page, 'html'> & { gzipped(): Promise<Buffer> };

const gzip = promisify(zlib.gzip);

/** Gives each mutation a key, offers to send it again with the same one, and shows the headers of the response. */
const barFile = new URL('explorer-bar.html', import.meta.url);

/** A document for each operation, ready to run. */
const operationsFolder = new URL('../../examples/operations/', import.meta.url);

/**
 * The explorer at `GET /graphql`, preloaded with a document for every operation and with `headers`:
 * Apollo Sandbox, embedded from its CDN, or GraphiQL, served entirely by the gateway.
 */
export async function createExplorer(
  kind: 'sandbox' | 'graphiql' | 'off',
  headers: Record<string, string>,
): Promise<Explorer | undefined> {
  if (kind === 'off') return undefined;
  const documents = readdirSync(operationsFolder)
    .sort()
    .map((file) => readFileSync(new URL(file, operationsFolder), 'utf8'));
  const { html, contentSecurityPolicy } =
    kind === 'sandbox' ? sandbox(documents, headers) : await graphiql(documents, headers);
  let gzipped: Promise<Buffer> | undefined;
  return {
    gzipped() {
      gzipped ??= gzip(html);
      return gzipped;
    },
    contentSecurityPolicy,
  };
}

/**
 * Whether a browser requests a page rather than the result of a query. The page writes its query into the address, so a
 * query is executed only with a token, which a browser does not send when it opens an address.
 */
export function acceptsPage({ method, headers, query }: FastifyRequest): boolean {
  const hasQuery = typeof query === 'object' && query !== null && 'query' in query;
  return (
    method === 'GET' &&
    headers.accept?.includes('text/html') === true &&
    !(hasQuery && headers.authorization !== undefined)
  );
}

/** Responds with the page, in gzip, which every browser accepts. */
export async function sendPage(
  reply: FastifyReply,
  { gzipped, contentSecurityPolicy }: Explorer,
): Promise<FastifyReply> {
  return reply
    .header('content-security-policy', contentSecurityPolicy)
    .header('content-encoding', 'gzip')
    .type('text/html; charset=utf-8')
    .send(await gzipped());
}

const sandboxScript = 'https://embeddable-sandbox.cdn.apollographql.com';
const sandboxFrame = 'https://sandbox.embed.apollographql.com';

function sandbox(documents: string[], headers: Record<string, string>): Page {
  const style = `html, body, #sandbox, iframe { margin: 0; width: 100%; height: 100%; border: 0 }
#sandbox:empty, #sandbox:not(:empty) + p { display: none }
p { padding: 2em; font: 1em/1.5 sans-serif }`;
  const state = { document: documents.join('\n'), headers, includeCookies: false };
  const script = `new window.EmbeddedSandbox({
  target: '#sandbox',
  initialEndpoint: window.location.origin + window.location.pathname,
  endpointIsEditable: false,
  hideCookieToggle: true,
  runTelemetry: false,
  allowDynamicStyles: false,
  initialState: ${inScript(state)},
});`;
  return {
    html: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8">${viewport}<title>Ledger Gateway</title><style>${style}</style></head>
<body>
<div id="sandbox"></div>
<p>Apollo Sandbox is loaded from the internet. If it does not appear, there may be no connection. GraphiQL needs
none: start the gateway with <code>EXPLORER=graphiql</code>.</p>
<script src="${sandboxScript}/v2/embeddable-sandbox.umd.production.min.js"></script>
<script>${script}</script>
</body>
</html>
`,
    contentSecurityPolicy: policy({
      'script-src': `${sandboxScript} ${hashOf(script)}`,
      'style-src': hashOf(style),
      'frame-src': sandboxFrame,
      'connect-src': "'self'",
    }),
  };
}

/** Without it, a phone shows the page at the width of a desktop. */
const viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">';

/** After a reload, GraphiQL adds an empty tab, unless its storage has the query of the active one. */
const keepTab = `try {
  const { tabs, activeTabIndex } = JSON.parse(localStorage['graphiql:tabState']);
  localStorage['graphiql:query'] ??= tabs[activeTabIndex].query ?? '';
} catch {} // There are no stored tabs.`;

async function graphiql(documents: string[], headers: Record<string, string>): Promise<Page> {
  // Nine megabytes, loaded only if they are used.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const headersText = inScript(headers, 2);
  const page = renderGraphiQL({
    title: 'Ledger Gateway',
    endpoint: '/graphql',
    headers: headersText,
    shouldPersistHeaders: false,
    defaultTabs: documents.map((query) => ({ query, headers: headersText })),
  });
  const root = '<div id="root"></div>';
  const bar = readFileSync(barFile, 'utf8');
  const html = page
    .replace('<head>', `<head>${viewport}<script>${keepTab}</script>`)
    .replace(root, () => `${root}\n${bar}`);
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)];
  return {
    html,
    contentSecurityPolicy: policy({
      'script-src': scripts.map(([, script = '']) => hashOf(script)).join(' '),
      'worker-src': 'blob:',
      // The editor inserts its styles, which contain its icons and font.
      'style-src': "'unsafe-inline'",
      'font-src': 'data:',
      'img-src': 'data:',
      'connect-src': "'self'",
    }),
  };
}

function policy(directives: Record<string, string>): string {
  return Object.entries({
    'default-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...directives,
  })
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}

function hashOf(content: string): string {
  return `'sha256-${hash('sha256', content, 'base64')}'`;
}

/** A value as JSON that is safe in a script. */
function inScript(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll('<', '\\u003c');
}
