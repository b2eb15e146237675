import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

export type WebApp = {
  readonly url: string;
  close(): Promise<void>;
};

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}examples/web/`;

/** Starts the example web app with Vite. Installs its packages first if there are none. The URL of the issuer ends with a slash. */
export async function startWebApp(
  gatewayUrl: string,
  issuerUrl: string,
  port: string,
): Promise<WebApp> {
  if (!isInstalled()) {
    process.stdout.write(
      'Installing the packages of the example app. This is only necessary the first time.\n',
    );
    const workspaces = ['packages/client', 'examples/web'].map((name) => `--workspace=${name}`);
    const install = ['install', '--no-save', '--workspaces', ...workspaces];
    const npm = spawn('npm', install, { cwd: root, stdio: 'inherit' });
    const [code] = await once(npm, 'exit');
    if (code !== 0) throw new Error('npm install failed for examples/web.');
  }
  const vite = spawn(process.execPath, [`${root}node_modules/vite/bin/vite.js`, '--port', port], {
    cwd: folder,
    env: { ...process.env, VITE_GATEWAY_URL: gatewayUrl, VITE_ISSUER_URL: issuerUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(vite, 'exit');
  const ready = Promise.withResolvers<string>();
  vite.stdout.setEncoding('utf8').on('data', (text: string) => {
    // Vite writes the port in bold.
    const [, url] = /Local:\s+(http:\S+)/.exec(stripVTControlCharacters(text)) ?? [];
    if (url !== undefined) ready.resolve(url);
  });
  exited.then(() => ready.reject(new Error('The web app did not start.')));
  return {
    url: await ready.promise,
    async close() {
      vite.kill();
      await exited;
    },
  };
}

/** Whether npm has installed the packages of the web app. It writes this list at its end. */
function isInstalled(): boolean {
  const list = `${root}node_modules/.package-lock.json`;
  return existsSync(list) && readFileSync(list, 'utf8').includes('"node_modules/vite"');
}
