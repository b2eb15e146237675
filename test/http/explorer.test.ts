import { hash } from 'node:crypto';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { operation, operationNames } from '../../testkit/example-operation.ts';
import { read } from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startStack } from '../support/stack.ts';

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const headers = { Authorization: 'Bearer </script><b>' };
const operationTexts = operationNames.map(operation);

const codes = json({
  service_status: { invoice_id: 1, message: '', status: 0 },
  list: [{ Code: '4010', Name: 'Travel', Value: 'T', Hide: 0 }],
});

/** Requests a URL as a browser does. */
async function visit(url: string, more: Record<string, string> = {}) {
  const response = await fetch(url, { headers: { ...browser, ...more } });
  const directives = (response.headers.get('content-security-policy') ?? '').split(';');
  const policy = directives.map((directive) => {
    const [name = '', ...sources] = directive.trim().split(/\s+/);
    return [name, sources] as const;
  });
  const { status, headers } = response;
  return { status, headers, html: await response.text(), policy: Object.fromEntries(policy) };
}

/** The source of a policy that allows an inline script or style with exactly this content. */
const hashOf = (content = '') => `'sha256-${hash('sha256', content, 'base64')}'`;

/** The attributes and content of each element with this name. */
function elements(html: string, name: string) {
  const pattern = new RegExp(`<${name}\\b([^>]*)>([\\s\\S]*?)</${name}>`, 'g');
  return [...html.matchAll(pattern)].map(([, attributes = '', content = '']) => {
    return { attributes: attributes.trim(), content };
  });
}

/** The directives that both pages have. */
const common = Object.fromEntries(
  ['default-src', 'base-uri', 'form-action', 'frame-ancestors'].map((name) => [name, ["'none'"]]),
);

/** Starts a gateway with an explorer, and requests its page once. */
function pageOf(explorer: string) {
  const share = shareGateway({ EXPLORER: explorer, EXPLORER_HEADERS: JSON.stringify(headers) });
  type Started = ReturnType<typeof share> & { page: Awaited<ReturnType<typeof visit>> };
  const started = {} as Started;
  beforeAll(async () => {
    const stack = share(codes);
    Object.assign(started, stack, { page: await visit(`${stack.gateway.url}/graphql`) });
  });
  return started;
}

const [sandbox, graphiql] = [pageOf('sandbox'), pageOf('graphiql')];

describe.each([
  ['sandbox', sandbox],
  ['graphiql', graphiql],
])('EXPLORER=%s', (_, started) => {
  test('the page is served to a browser, also for an address with a query, and not cached', async () => {
    const { gateway, page } = started;
    const { status, headers, html } = await visit(
      `${gateway.url}/graphql?query=mutation+%7B+a+%7D`,
    );
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect([page.status, page.html]).toEqual([200, html]);
    // The page may hold a token.
    expect(headers.get('cache-control')).toBe('no-store');
    expect(html).not.toMatch(/Bearer [\w-]+\./);
  });

  test('a request with a token is executed, whatever it accepts', async () => {
    const { gateway } = started;
    const authorization = `Bearer ${gateway.token}`;
    const headers = { ...browser, authorization, 'apollo-require-preflight': 'true' };
    const url = `${gateway.url}/graphql?query=${encodeURIComponent(read)}`;
    const response = await fetch(url, { headers });
    expect(response.headers.get('content-type')).toMatch(/json/);
    const data = { result: { __typename: 'GlCodeList', codes: [{ code: '4010' }] } };
    expect(await response.json()).toEqual({ data });
    expect((await gateway.graphql(read, {}, browser)).data).toEqual(data);
  });

  test.each(['application/json', '*/*'])(
    'a client that accepts %s gets no page',
    async (accept) => {
      const response = await fetch(`${started.gateway.url}/graphql`, { headers: { accept } });
      expect(response.status).toBe(401);
      expect(response.headers.get('content-type')).toMatch(/json/);
    },
  );
});

describe('Apollo Sandbox', () => {
  const scriptOrigin = 'https://embeddable-sandbox.cdn.apollographql.com';
  const frameOrigin = 'https://sandbox.embed.apollographql.com';

  test('contains its own endpoint, the headers and every document, and names the explorer that needs no internet', () => {
    const { html } = sandbox.page;
    const [library, script, ...others] = elements(html, 'script');
    // A header cannot end the script element.
    expect(others).toEqual([]);
    expect(html).not.toContain('<b>');
    const url = /^src="https:\/\/embeddable-sandbox\.cdn\.apollographql\.com\/v2\/[\w.-]+\.js"$/;
    expect(library).toEqual({ attributes: expect.stringMatching(url), content: '' });
    // The script as a browser runs it, with the library's constructor replaced.
    const location = { origin: 'https://ledger.example', pathname: '/graphql' };
    const EmbeddedSandbox = jest.fn();
    new Function('window', script?.content ?? '')({ EmbeddedSandbox, location });
    const document = operationTexts.join('\n');
    expect(EmbeddedSandbox).toHaveBeenCalledWith({
      target: '#sandbox',
      initialEndpoint: 'https://ledger.example/graphql',
      ...{ endpointIsEditable: false, hideCookieToggle: true },
      ...{ runTelemetry: false, allowDynamicStyles: false },
      initialState: { document, headers, includeCookies: false },
    });
    expect(html).toContain('id="sandbox"');
    expect(elements(html, 'p')[0]?.content).toContain('EXPLORER=graphiql');
  });

  test('allows the two origins of the embed and no other, no inline event handlers and no inline styles', () => {
    const { html, policy } = sandbox.page;
    const [, script] = elements(html, 'script');
    const [style] = elements(html, 'style');
    expect(policy).toEqual({
      ...common,
      'script-src': [scriptOrigin, hashOf(script?.content)],
      'style-src': [hashOf(style?.content)],
      'frame-src': [frameOrigin],
      'connect-src': ["'self'"],
    });
    expect(html.match(/https?:\/\/[^/"']+/g)).toEqual([scriptOrigin]);
    const markup = html.replaceAll(/<script[\s\S]*?<\/script>/g, '');
    expect(markup).not.toMatch(/\son\w+=|\sstyle=|javascript:/i);
  });
});

describe('GraphiQL', () => {
  test('contains the endpoint, the headers and every document', () => {
    const { html } = graphiql.page;
    for (const text of operationTexts) {
      // In a script, line breaks and quotes are escaped as in JSON.
      expect(html).toContain(JSON.stringify(text).slice(1, -1));
    }
    expect(html).toContain('"endpoint":"/graphql"');
    expect(html).toContain('Bearer \\\\u003c/script>');
    expect(html).not.toContain('Bearer </script>');
  });

  test('loads its library and style once, whatever token the page has', async () => {
    const { gateway, page } = graphiql;
    const urls = Array.from(page.html.matchAll(/(?:src|href)="(\/[^"]+)"/g), ([, url = '']) => url);
    expect(urls).toHaveLength(2);
    expect(page.html.length).toBeLessThan(50_000);
    for (const url of urls) {
      const { headers, html } = await visit(gateway.url + url, { accept: '*/*' });
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(headers.get('content-type')).toMatch(/^text\/(css|javascript); charset=utf-8$/);
      expect(html.length).toBeGreaterThan(500_000);
      expect(html).not.toContain('Bearer </script>');
      expect(url).toContain(hash('sha256', html, 'base64url'));
    }
    const other = await visit(`${gateway.url}/graphql?asset=other`, { accept: '*/*' });
    expect([other.status, other.headers.get('cache-control')]).toEqual([401, 'no-store']);
  });

  test('loads nothing from elsewhere, and allows no other origin', () => {
    const { html, policy } = graphiql.page;
    const scripts = elements(html, 'script');
    const inline = scripts.filter(({ attributes }) => !attributes.includes('src='));
    expect(inline).toHaveLength(3);
    expect(policy).toEqual({
      ...common,
      'script-src': ["'self'", ...inline.map(({ content }) => hashOf(content))],
      'worker-src': ['blob:'],
      'style-src': ["'self'", "'unsafe-inline'"],
      'font-src': ['data:'],
      'img-src': ['data:'],
      'connect-src': ["'self'"],
    });
    const markup = html.replaceAll(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/g, '<$1></$1>');
    expect(markup).not.toMatch(/<(script|img|iframe)[^>]*\ssrc=(?!"(data:|\/graphql\?asset=))/);
    expect(markup).not.toMatch(/<link[^>]*\shref=(?!"(data:|\/graphql\?asset=))/);
  });
});

test('without EXPLORER, there is no page', async () => {
  const { gateway } = await startStack(codes);
  const { status, headers, html, policy } = await visit(`${gateway.url}/graphql`);
  expect(status).toBe(401);
  expect(headers.get('content-type')).toMatch(/json/);
  expect(html).not.toContain('<html');
  expect(policy['default-src']).toEqual(["'none'"]);
});
