import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { variables } from '../../testkit/config.ts';
import { check } from './report.ts';
import { checkShutdown, own } from './shutdown.ts';

const folder = new URL('../', import.meta.url);
const read = (file: string): unknown => parse(readFileSync(new URL(file, folder), 'utf8'));

/** The value if no variable of the user is set: a default, or nothing. Null stands for a variable that is passed on. */
function withoutVariables(value: string): string {
  if (value === 'null') return '';
  return value.replaceAll(/\$\{\w+(?::?-([^}]*)|:\?)?\}/g, (_, byDefault = '') => byDefault);
}

function checkServices(): void {
  const volumes = z.array(z.string()).default([]);
  const environment = z.record(z.string(), z.coerce.string().transform(withoutVariables));
  const gateway = z.object({ environment, stop_grace_period: z.string().regex(/^\d+s$/) });
  const { services } = z
    .object({ services: z.object({ gateway }).catchall(z.object({ volumes })) })
    .parse(read('compose.yaml'));
  const { gateway: parsed, ...others } = services;
  const dropped = Object.keys(variables).filter((name) => !(name in parsed.environment));
  if (dropped.length > 0) throw new Error(`does not pass ${dropped.join(', ')}`);
  checkShutdown({ ...parsed.environment, ...own }, Number.parseInt(parsed.stop_grace_period, 10));
  const files = Object.values(others)
    .flatMap(({ volumes }) => volumes)
    .filter((volume) => volume.startsWith('./'))
    .map((volume) => volume.split(':')[0] ?? '');
  const missing = files.filter((file) => !existsSync(new URL(file, folder)));
  if (missing.length > 0) throw new Error(`no such file: ${missing.join(', ')}`);
}

/** Checks the files of Docker Compose. */
export function checkCompose(): void {
  check('compose.yaml: variables, grace period and mounted files', checkServices);
}
