import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The texts that `npm run new-operation` writes instead of a description, by file. `The service's` and a name is one that may stay. */
const patterns: Readonly<Record<string, RegExp>> = {
  'schema.graphql':
    /"(Sends `\w+`|An item of (a list in )?`\w+`|The outcome of `\w+` with status 0, OK)\."/g,
  'docs/reference/errors.md': /\| The outcome of `\w+`\. \|/g,
  'docs/reference/schema.md': /\| sends `\w+` \|/g,
  'docs/reference/service-api.md': /`\w+ \/\w+`( of the service `\w+`)?\. Parameters: /g,
};

/** The descriptions that are still to be written, in the files of this folder. */
export function placeholdersIn(folder: string): string[] {
  return Object.entries(patterns).flatMap(([file, pattern]) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(pattern)].map(
      ([text]) => `${file}: ${text}`,
    ),
  );
}
