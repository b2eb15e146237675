import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** `npm run licenses`: prints the production packages by licence, from package-lock.json. */
const entry = z.object({
  version: z.string(),
  license: z.string().default('unknown'),
  dev: z.boolean().default(false),
});
const lock = z.object({ packages: z.record(z.string(), z.unknown()) });
const { packages } = lock.parse(
  JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')),
);
const { '': _own, ...dependencies } = packages;
const production = Object.entries(dependencies)
  .map(([path, value]) => ({ name: path.split('node_modules/').at(-1), ...entry.parse(value) }))
  .filter(({ dev }) => !dev);
const byLicense = Object.groupBy(production, ({ license }) => license);
for (const [license, list = []] of Object.entries(byLicense).sort()) {
  const names = [...new Set(list.map(({ name, version }) => `${name}@${version}`))].sort();
  process.stdout.write(
    `${license} (${names.length})\n${names.map((name) => `  ${name}\n`).join('')}`,
  );
}
