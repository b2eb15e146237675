import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `npm run --silent sbom`: prints a software bill of materials (CycloneDX) of the production packages.
 *
 * `npm sbom --omit=dev` does not work here: in a production tree it reports the other packages as missing, and in any
 * other tree it leaves out what peer dependencies need. So it gets a production tree that asks for nothing else.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-sbom-'));
// npm names the component after its folder.
const cwd = join(folder, 'ledger-gateway');
const npm = (...args: string[]) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 });
try {
  mkdirSync(cwd);
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    cpSync(join(root, file), join(cwd, file));
  npm('ci', '--omit=dev', '--ignore-scripts');
  npm('pkg', 'delete', 'devDependencies', 'workspaces');
  process.stdout.write(npm('sbom', '--sbom-format=cyclonedx', '--sbom-type=application'));
} finally {
  rmSync(folder, { recursive: true });
}
