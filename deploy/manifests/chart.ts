import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

/** The folder of the Helm chart. */
const chart = fileURLToPath(new URL('../helm', import.meta.url));

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
});

/** A resource of Kubernetes. */
export type Manifest = z.infer<typeof manifest>;

/** The output of Helm. Throws what it prints if it fails. */
function helm(...args: string[]): string {
  const { error, status, stdout, stderr } = spawnSync('helm', args, { encoding: 'utf8' });
  if (error) throw new Error('Helm is missing: see docs/how-to/deploy.md', { cause: error });
  if (status !== 0) throw new Error(stderr || stdout);
  return stdout;
}

/** The options that name files of values, which are given from deploy/. */
function optionsOf(values: readonly string[]): string[] {
  const files = values.map((path) => fileURLToPath(new URL(`../${path}`, import.meta.url)));
  return files.flatMap((file) => ['--values', file]);
}

/** Throws if Helm finds faults in the chart with files of values. */
export function lint(values: readonly string[]): void {
  helm('lint', '--strict', '--quiet', chart, ...optionsOf(values));
}

/**
 * The resources of the chart with files of values, which are named from deploy/, and further arguments. The release has
 * another name than the chart, so that a name that ignores the release is a fault.
 */
export function render(values: readonly string[], args: readonly string[] = []): Manifest[] {
  const options = [...optionsOf(values), ...args];
  const text = helm('template', 'blue', chart, '--namespace', 'ledger', ...options);
  return parseAllDocuments(text).map((document) => manifest.parse(document.toJS()));
}
