import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

export type WebApp = {
  readonly url: string;
  close(): Promise<void>;
};

const folder = fileURLToPath(new URL('../examples/web/', import.meta.url));

/**
 * Starts the example web app with Vite. Installs its packages first if there are none. The URL of the issuer ends with a
 * slash.
 */
export async function startWebApp(
  gatewayUrl: string,
  issuerUrl: string,
  port: string,
): Promise<WebApp> {
  // npm writes this file at its end: without it, an installation was interrupted.
  if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
    process.stdout.write('Installing the packages of the web app, once …\n');
    const npm = spawn('npm', ['ci'], { cwd: folder, stdio: 'inherit' });
    const [code] = await once(npm, 'exit');
    if (code !== 0) throw new Error('npm ci failed in examples/web.');
  }
  const vite = spawn(process.execPath, ['node_modules/vite/bin/vite.js', '--port', port], {
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
