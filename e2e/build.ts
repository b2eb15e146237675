import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const webFolder = join(root, 'examples/web');
const built = join(root, 'node_modules/.cache/web');
/** The origins in the build, which a copy replaces. */
const gatewayOrigin = 'http://gateway.invalid';
const issuerOrigin = 'http://issuer.invalid';

/** In a process of its own, because Jest cannot load the package here. */
const unpackBrowser = `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`;

/** Builds the client package and the example web app once for all tests, and unpacks the browser that they share. */
export default function build(): void {
  if (process.env.CHROMIUM_PATH === undefined) {
    execFileSync(process.execPath, ['--input-type=module', '--eval', unpackBrowser], {
      cwd: import.meta.dirname,
    });
  }
  execFileSync(
    'npm',
    ['run', '--silent', '--workspaces', '--workspace=packages/client', 'prepare'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  const vite = [
    join(root, 'node_modules/vite/bin/vite.js'),
    'build',
    '--logLevel',
    'warn',
    '--emptyOutDir',
  ];
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
