import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';

/** A part of a file that a reader may copy, or that a program sends. */
export type Sample = { readonly where: string; readonly text: string };

const root = fileURLToPath(new URL('../..', import.meta.url));
const exclude = (path: string) => path.includes('node_modules');
const filesOf = (pattern: string) => globSync(pattern, { cwd: root, exclude }).sort();
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The blocks of code in this language, on these pages. */
export function blocksOf(language: string, pages = '**/*.md'): Sample[] {
  const block = new RegExp(
    `^( *)\`\`\`${language}(?: \\[[^\\]]+\\])?\\n([^]*?)\\n\\1\`\`\`$`,
    'gm',
  );
  return filesOf(pages).flatMap((page) => {
    const text = read(page);
    return [...text.matchAll(block)].map(({ index, 2: code = '' }) => {
      const line = text.slice(0, index).split('\n').length;
      return { where: `${page}:${line}`, text: code };
    });
  });
}

/** The complete `curl` commands of all pages, in blocks and in lines. */
export function curlCommands(): Sample[] {
  return filesOf('**/*.md').flatMap((page) =>
    [
      ...read(page)
        .replaceAll(/\\\n\s*/g, '')
        .replaceAll(/\$\((curl [^)]*)\)/g, '$1')
        .matchAll(/\bcurl -[^`\n|]*http[^`\n|]*/g),
    ].map(([text], n) => ({ where: `${page}, command ${n + 1}`, text: text.trim() })),
  );
}

/** The GraphQL operations in the literals of programs, and in files with documents. */
export function operationsOf(...patterns: string[]): Sample[] {
  return patterns.flatMap(filesOf).flatMap((path) => {
    const texts = path.endsWith('.graphql') ? [read(path)] : textsOf(path);
    return texts
      .filter((text) => /^\s*(#.*\s+)*((query|mutation)\b[^{]*)?\{\s*[a-z_]/i.test(text))
      .map((text, n) => ({ where: `${path}, document ${n + 1}`, text }));
  });
}

/**
 * The literals of a program. In a template, a constant of the file is replaced by its text, and everything else by `__typename`,
 * which is a field of every type, and fits into every string.
 */
function textsOf(path: string): string[] {
  const texts: string[] = [];
  const constants = new Map<string, string>();
  new Visitor({
    Literal({ value }) {
      if (typeof value === 'string') texts.push(value);
    },
    TemplateLiteral({ quasis, expressions }) {
      const values = expressions.map((one) => one.type === 'Identifier' && constants.get(one.name));
      const parts = quasis.flatMap(({ value }, n) => [values[n - 1] || '__typename', value.cooked]);
      texts.push(parts.slice(1).join(''));
    },
    'VariableDeclarator:exit'({ id, init }) {
      const isText = init?.type === 'Literal' || init?.type === 'TemplateLiteral';
      if (id.type === 'Identifier' && isText) constants.set(id.name, texts.at(-1) ?? '');
    },
  }).visit(parseSync(path, read(path)).program);
  return texts;
}
