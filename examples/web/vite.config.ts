import react from '@vitejs/plugin-react';
import { defineConfig, loadEnv, type Plugin } from 'vite';

/**
 * Lets the page load its own files, and connect to the gateway and the sign-in. A server can send the same as a header.
 * Vite's server for development also needs its inline script and styles.
 */
function contentSecurityPolicy(urls: readonly string[]): Plugin {
  const origins = urls.map((url) => new URL(url).origin).join(' ');
  return {
    name: 'content-security-policy',
    transformIndexHtml(_html, { server }) {
      const own = server ? "'self' 'unsafe-inline'" : "'self'";
      const content = [
        `default-src 'none'; script-src ${own}; style-src ${own}; img-src 'self' data:`,
        `connect-src ${server ? "'self' " : ''}${origins}; base-uri 'none'; form-action 'none'`,
      ].join('; ');
      const attrs = { 'http-equiv': 'Content-Security-Policy', content };
      return [{ tag: 'meta', attrs, injectTo: 'head-prepend' }];
    },
  };
}

export default defineConfig(({ mode }) => {
  const {
    VITE_GATEWAY_URL = 'http://127.0.0.1:4000/graphql',
    VITE_ISSUER_URL = 'http://127.0.0.1:4010/',
  } = loadEnv(mode, process.cwd());
  return {
    plugins: [react(), contentSecurityPolicy([VITE_GATEWAY_URL, VITE_ISSUER_URL])],
    // The client package is linked, so its React would be sought beside it.
    resolve: { dedupe: ['react'] },
    server: { port: 5173, strictPort: true },
  };
});
