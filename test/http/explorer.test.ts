import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { operation, operationNames } from '../support/example-operation.ts';
import { startTestGateway } from '../support/gateway.ts';
import { read } from '../support/graphql-operation.ts';
import { json, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const headers = { Authorization: 'Bearer </script><b>' };
const operationTexts = operationNames.map(operation);

const codes = json({
  service_status: { invoice_id: 1, message: '', status: 0 },
  list: [{ Code: '4010', Name: 'Travel', Value: 'T', Hide: 0 }],
});

/** A gateway with these variables that the tests share. */
function share(variables: Record<string, string>) {
  const start = shareGateway(variables);
  return () => start(codes).gateway;
}

/** Requests a URL as a browser does. */
async function visit(url: string, more: Record<string, string> = {}) {
  const response = await fetch(url, { headers: { ...browser, ...more } });
  const html = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    html,
    policy: readPolicy(response.headers.get('content-security-policy')),
  };
}

/** The directives of a content security policy, by name. */
function readPolicy(header: string | null): Record<string, string[]> {
  const entries = (header ?? '').split(';').map((directive) => {
    const [name = '', ...sources] = directive.trim().split(/\s+/);
    return [name, sources] as const;
  });
  return Object.fromEntries(entries);
}

/** The source of a policy that allows an inline script or style with exactly this content. */
function hashOf(content: string | undefined): string {
  return `'sha256-${createHash('sha256')
    .update(content ?? '')
    .digest('base64')}'`;
}

/** The attributes and content of each element with this name. */
function elements(html: string, name: string) {
  const pattern = new RegExp(`<${name}\\b([^>]*)>([\\s\\S]*?)</${name}>`, 'g');
  return [...html.matchAll(pattern)].map(([, attributes = '', content = '']) => ({
    attributes: attributes.trim(),
    content,
  }));
}

/** The directives that both pages have. */
const common = {
  'default-src': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

describe('Apollo Sandbox', () => {
  const variables = { EXPLORER: 'sandbox', EXPLORER_HEADERS: JSON.stringify(headers) };
  const start = share(variables);
  const scriptOrigin = 'https://embeddable-sandbox.cdn.apollographql.com';
  const frameOrigin = 'https://sandbox.embed.apollographql.com';

  test('is served to a browser and not cached', async () => {
    const gateway = start();

    const { status, headers } = await visit(`${gateway.url}/graphql`);

    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    // The page may hold a token.
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test('contains its own endpoint, the headers and every document', async () => {
    const gateway = start();

    const { html } = await visit(`${gateway.url}/graphql`);

    const [library, script] = elements(html, 'script');
    expect(library).toEqual({
      attributes: expect.stringMatching(
        /^src="https:\/\/embeddable-sandbox\.cdn\.apollographql\.com\/v2\/[\w.-]+\.js"$/,
      ),
      content: '',
    });
    // The script as a browser runs it, with the library's constructor replaced.
    const location = { origin: 'https://ledger.example', pathname: '/graphql' };
    const created: unknown[] = [];
    class EmbeddedSandbox {
      constructor(options: unknown) {
        created.push(options);
      }
    }
    new Function('window', script?.content ?? '')({ EmbeddedSandbox, location });
    expect(created).toEqual([
      {
        target: '#sandbox',
        initialEndpoint: 'https://ledger.example/graphql',
        endpointIsEditable: false,
        hideCookieToggle: true,
        runTelemetry: false,
        allowDynamicStyles: false,
        initialState: { document: operationTexts.join('\n'), headers, includeCookies: false },
      },
    ]);
    expect(html).toContain('id="sandbox"');
  });

  test('names the explorer that needs no internet', async () => {
    const gateway = start();

    const { html } = await visit(`${gateway.url}/graphql`);

    const [notice] = elements(html, 'p');
    expect(notice?.content).toContain('EXPLORER=graphiql');
  });

  test('a header cannot end the script element', async () => {
    const gateway = start();

    const { html } = await visit(`${gateway.url}/graphql`);

    expect(elements(html, 'script')).toHaveLength(2);
    expect(html).not.toContain('<b>');
  });

  test('allows the two origins of the embed and no other', async () => {
    const gateway = start();

    const { html, policy } = await visit(`${gateway.url}/graphql`);

    const [, script] = elements(html, 'script');
    const [style] = elements(html, 'style');
    expect(policy).toEqual({
      ...common,
      'script-src': [scriptOrigin, hashOf(script?.content)],
      'style-src': [hashOf(style?.content)],
      'frame-src': [frameOrigin],
      'connect-src': ["'self'"],
    });
    const outside = Object.values(policy)
      .flat()
      .filter((source) => !source.startsWith("'"));
    expect(new Set(outside)).toEqual(new Set([scriptOrigin, frameOrigin]));
    expect(html.match(/https?:\/\/[^/"']+/g)).toEqual([scriptOrigin]);
  });

  test('has no inline event handlers and no inline styles', async () => {
    const gateway = start();

    const { html } = await visit(`${gateway.url}/graphql`);
    const page = html.replaceAll(/<script[\s\S]*?<\/script>/g, '');

    expect(page).not.toMatch(/\son\w+=|\sstyle=|javascript:/i);
  });
});

describe('GraphiQL', () => {
  const variables = { EXPLORER: 'graphiql', EXPLORER_HEADERS: JSON.stringify(headers) };
  const start = share(variables);

  test('is served as one page that loads no other resources', async () => {
    const gateway = start();

    const { status, headers, html } = await visit(`${gateway.url}/graphql`);

    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    const page = html.replaceAll(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/g, '<$1></$1>');
    expect(page).not.toMatch(/<(script|img|iframe)[^>]*\ssrc=(?!["']?data:)/);
    expect(page).not.toMatch(/<link[^>]*\shref=(?!["']?data:)/);
  });

  test('contains the endpoint, the headers and every document', async () => {
    const gateway = start();

    const { html } = await visit(`${gateway.url}/graphql`);

    for (const text of operationTexts) {
      // In a script, line breaks and quotes are escaped as in JSON.
      expect(html).toContain(JSON.stringify(text).slice(1, -1));
    }
    expect(html).toContain('"endpoint":"/graphql"');
    expect(html).toContain('Bearer \\\\u003c/script>');
    expect(html).not.toContain('Bearer </script>');
  });

  test('allows no other origin', async () => {
    const gateway = start();

    const { html, policy } = await visit(`${gateway.url}/graphql`);

    const inline = elements(html, 'script').filter(
      ({ attributes }) => !attributes.includes('src='),
    );
    expect(inline).toHaveLength(2);
    expect(policy).toEqual({
      ...common,
      'script-src': inline.map(({ content }) => hashOf(content)),
      'worker-src': ['blob:'],
      'style-src': ["'unsafe-inline'"],
      'font-src': ['data:'],
      'img-src': ['data:'],
      'connect-src': ["'self'"],
    });
  });
});

describe.each(['sandbox', 'graphiql'])('EXPLORER=%s', (explorer) => {
  const start = share({ EXPLORER: explorer });

  test('the policy allows no wildcards, no whole schemes and no unsafe scripts', async () => {
    const gateway = start();

    const { policy } = await visit(`${gateway.url}/graphql`);

    expect(Object.values(policy).flat().join(' ')).not.toMatch(/\*|https?:(?!\/\/)|unsafe-eval/);
    expect(policy['script-src']?.join(' ')).not.toMatch(/unsafe-inline|data:|blob:/);
  });

  test('a browser that reloads an address with a query gets the page', async () => {
    const gateway = start();
    const { status, html } = await visit(`${gateway.url}/graphql?query=mutation+%7B+a+%7D`);
    expect(status).toBe(200);
    expect(html).toContain('</html>');
    expect(html).not.toContain('mutation { a }');
  });

  test('a GET with a query and a token is executed, whatever it accepts', async () => {
    const gateway = start();

    const url = `${gateway.url}/graphql?query=${encodeURIComponent(read)}`;
    const response = await fetch(url, {
      headers: {
        ...browser,
        authorization: `Bearer ${gateway.token}`,
        'apollo-require-preflight': 'true',
      },
    });

    expect(response.headers.get('content-type')).toMatch(/json/);
    expect(await response.json()).toEqual({
      data: { result: { __typename: 'GlCodeList', codes: [{ code: '4010' }] } },
    });
  });

  test('a client that does not accept HTML gets no page', async () => {
    const gateway = start();

    for (const accept of ['application/json', '*/*']) {
      const response = await fetch(`${gateway.url}/graphql`, { headers: { accept } });
      expect(response.status).toBe(401);
      expect(response.headers.get('content-type')).toMatch(/json/);
    }
  });

  test('a POST never gets a page', async () => {
    const gateway = start();

    const { data } = await gateway.graphql(read, {}, browser);

    expect(data.result.__typename).toBe('GlCodeList');
  });

  test('without EXPLORER_HEADERS the page holds no token', async () => {
    const gateway = start();

    const { html } = await visit(`${gateway.url}/graphql`);

    expect(html).not.toMatch(/Bearer [\w-]+\./);
  });
});

test('without EXPLORER, there is no page', async () => {
  const gateway = await startTestGateway(await startService(codes), {});

  const { status, headers, html, policy } = await visit(`${gateway.url}/graphql`);

  expect(status).toBe(401);
  expect(headers.get('content-type')).toMatch(/json/);
  expect(html).not.toContain('<html');
  expect(policy['default-src']).toEqual(["'none'"]);
});

describe('CORS', () => {
  const allowed = 'https://app.example.com';
  const start = share({
    CORS_ORIGINS: `${allowed},https://other.example.com`,
    EXPLORER: 'sandbox',
  });

  /** The preflight request of a browser for a page of this origin. */
  async function preflight(url: string, origin: string) {
    return fetch(`${url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });
  }

  test('a page of a listed origin may send requests', async () => {
    const gateway = start();

    const response = await preflight(gateway.url, allowed);

    expect(response.ok).toBe(true);
    expect(response.headers.get('access-control-allow-origin')).toBe(allowed);
    expect(response.headers.get('vary')).toMatch(/origin/i);
    const posted = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: {
        origin: allowed,
        'content-type': 'application/json',
        authorization: `Bearer ${gateway.token}`,
      },
      body: JSON.stringify({ query: read }),
    });
    expect(posted.headers.get('access-control-allow-origin')).toBe(allowed);
    expect(posted.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test.each([
    'https://app.example.com.evil.example',
    'https://evil.example',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://sandbox.embed.apollographql.com',
    'https://studio.apollographql.com',
    'null',
  ])('a page of %s may not send requests', async (origin) => {
    const gateway = start();

    const { headers } = await preflight(gateway.url, origin);

    expect(headers.get('access-control-allow-origin')).not.toBe(origin);
    expect(headers.get('access-control-allow-origin')).not.toBe('*');
  });

  test.each(['off', 'sandbox', 'graphiql'])(
    'without CORS_ORIGINS, no page of another origin may send requests: EXPLORER=%s',
    async (explorer) => {
      const gateway = await startTestGateway(await startService(codes), { EXPLORER: explorer });

      const { headers } = await preflight(gateway.url, allowed);

      expect(headers.get('access-control-allow-origin')).toBeNull();
    },
  );
});
