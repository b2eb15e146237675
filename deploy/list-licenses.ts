import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** `npm run licenses`: prints the production packages by licence, from package-lock.json. */
const entry = z.object({
  version: z.string().optional(),
  license: z.string().default('unknown'),
  dev: z.boolean().default(false),
  // A development dependency that is also an optional peer of the client package.
  devOptional: z.boolean().default(false),
  link: z.boolean().default(false),
});
const lock = z.object({ packages: z.record(z.string(), z.unknown()) });
const { packages } = lock.parse(
  JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')),
);
const { '': _own, ...dependencies } = packages;
const production = Object.entries(dependencies)
  // The others are the workspaces, and the links to them.
  .filter(([path]) => path.startsWith('node_modules/'))
  .map(([path, value]) => ({ name: path.split('node_modules/').at(-1), ...entry.parse(value) }))
  .filter(({ dev, devOptional, link }) => !dev && !devOptional && !link);
const byLicense = Object.groupBy(production, ({ license }) => license);
for (const [license, list = []] of Object.entries(byLicense).sort()) {
  const names = [...new Set(list.map(({ name, version }) => `${name}@${version}`))].sort();
  process.stdout.write(
    `${license} (${names.length})\n${names.map((name) => `  ${name}\n`).join('')}`,
  );
}
