import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const webFolder = fileURLToPath(new URL('../examples/web/', import.meta.url));
const clientFolder = fileURLToPath(new URL('../packages/client/', import.meta.url));
const built = fileURLToPath(new URL('node_modules/.cache/web', import.meta.url));
/** The origins in the build, which a copy replaces. */
const gatewayOrigin = 'http://gateway.invalid';
const issuerOrigin = 'http://issuer.invalid';

/** Builds the client package and the example web app once for all tests. */
export default function build(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: clientFolder, stdio: 'inherit' });
  const vite = ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'warn', '--emptyOutDir'];
  execFileSync(process.execPath, [...vite, '--outDir', built], {
    cwd: webFolder,
    env: {
      PATH: process.env.PATH,
      VITE_GATEWAY_URL: `${gatewayOrigin}/graphql`,
      VITE_ISSUER_URL: `${issuerOrigin}/`,
    },
    stdio: 'inherit',
  });
}

/** Writes the app into a folder, for a gateway and an issuer. */
export function writeWebApp(folder: string, gateway: { url: string }, issuer: { url: string }) {
  cpSync(built, folder, { recursive: true });
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(html|js)$/.test(name)) continue;
    const text = readFileSync(join(folder, name), 'utf8')
      .replaceAll(gatewayOrigin, new URL(gateway.url).origin)
      .replaceAll(issuerOrigin, new URL(issuer.url).origin);
    writeFileSync(join(folder, name), text);
  }
}
