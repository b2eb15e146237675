import { readFileSync, writeFileSync } from 'node:fs';
import { isMap, isNode, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';

const values = new URL('../helm/values.yaml', import.meta.url);
const page = new URL('../../docs/reference/helm-values.md', import.meta.url);
const place = /(<!-- values -->\n)[\s\S]*(<!-- end of values -->)/;

/** The comment before a value. The parser gives that of the first key to the map. */
function commentOf(pair: Pair, map: YAMLMap): string {
  const own = isScalar(pair.key) ? pair.key.commentBefore : undefined;
  return own ?? (pair === map.items[0] ? map.commentBefore : undefined) ?? '';
}

/** A comment as one line of Markdown, with links to the files that it names. */
function describe(comment: string): string {
  return comment
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .replaceAll(/\bdocs\/([\w/-]+?)([\w-]+)\.md/g, '[$2](../$1$2.md)')
    .replaceAll(/\bexamples\/[\w-]+\.yaml/g, (file) => `[${file}](../../deploy/helm/${file})`)
    .replaceAll(/\bdeploy\/[\w./-]+\.yml/g, (file) => `[${file}](../../${file})`);
}

function defaultOf(value: unknown): string {
  const text = JSON.stringify(isNode(value) ? value.toJSON() : value);
  if (text === '""') return '';
  return text.length > 80 ? 'see the file' : `\`${text}\``;
}

/** The rows of a map: one for each value, and one for each map that has a comment. A map in braces is a value. */
function rowsOf(map: YAMLMap, above = ''): string[] {
  return map.items.flatMap((pair) => {
    const name = `${above}${pair.key}`;
    const comment = commentOf(pair, map);
    const row = (byDefault: string) => `| \`${name}\` | ${byDefault} | ${describe(comment)} |`;
    if (!isMap(pair.value) || pair.value.flow) return [row(defaultOf(pair.value))];
    return [...(comment === '' ? [] : [row('')]), ...rowsOf(pair.value, `${name}.`)];
  });
}

/** The page with the table that follows from the values of the chart. */
function pageWithTable(): string {
  const { contents } = parseDocument(readFileSync(values, 'utf8'));
  if (!isMap(contents)) throw new Error('values.yaml is no map');
  const table = ['| Value | Default | |', '|---|---|---|', ...rowsOf(contents)].join('\n');
  const text = readFileSync(page, 'utf8');
  if (!place.test(text))
    throw new Error('docs/reference/helm-values.md has no place for the values');
  return text.replace(place, (_, start: string, end: string) => `${start}${table}\n${end}`);
}

/** Throws unless the page has the table of the values. */
export function checkTable(): void {
  if (readFileSync(page, 'utf8') !== pageWithTable()) {
    throw new Error('run `node deploy/manifests/values-table.ts`');
  }
}

// `node deploy/manifests/values-table.ts` writes the table into docs/reference/helm-values.md.
if (import.meta.main) writeFileSync(page, pageWithTable());
