import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, skip } from './report.ts';
import { checkShutdown, own } from './shutdown.ts';

const folder = fileURLToPath(new URL('../', import.meta.url));
const unit = 'systemd/ledger-gateway.service';

function checkVariables(): void {
  const text = readFileSync(`${folder}${unit}`, 'utf8');
  const valuesOf = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
  const variables = Object.fromEntries(valuesOf('Environment').map((line) => line.split('=')));
  checkShutdown({ ...variables, ...own }, Number(valuesOf('TimeoutStopSec')[0]));
}

function verify(): void {
  const units = mkdtempSync(join(tmpdir(), 'units-'));
  cpSync(`${folder}systemd`, units, { recursive: true });
  copyFileSync(`${folder}${unit}`, join(units, 'ledger-gateway@.service'));
  const names = ['ledger-gateway.service', 'ledger-gateway@4001.service'];
  const args = ['verify', '--man=no', ...names.map((name) => join(units, name))];
  const env = { ...process.env, SYSTEMD_UNIT_PATH: `${units}:` };
  const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8', env });
  rmSync(units, { recursive: true });
  // It also reads the units of other packages, of which some have warnings.
  const ours = stderr.split('\n').filter((line) => line.includes('ledger-gateway'));
  if (status !== 0 || ours.length > 0) throw new Error(stderr);
}

/** Checks the unit of systemd, as it is and as a template of several instances. */
export function checkSystemd(): void {
  check(`${unit}: variables and grace period`, checkVariables);
  const name = `${unit} and instances of it: systemd-analyze verify`;
  // systemd reads the unit as it would when it starts it, and looks for the program of ExecStart.
  const isVerifiable = spawnSync('systemd-analyze', ['--version']).status === 0;
  if (isVerifiable && existsSync('/usr/bin/node')) check(name, verify);
  else skip(name, 'needs systemd and /usr/bin/node');
}
