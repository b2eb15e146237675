import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A row of a chart of accounts. */
export type Row = { code: string | null; name: string | null; value: string | null };

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decoded(text: string | undefined): string | null {
  if (text === undefined) return null;
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name) => {
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return Number.isNaN(point) ? (entities[name] ?? all) : String.fromCodePoint(point);
  });
}

/** The content of the first match of a pattern with one group. */
const first = (text: string, pattern: string) => decoded(new RegExp(pattern, 's').exec(text)?.[1]);

/** How rows are found in the files of GnuCash, KMyMoney, SQL-Ledger and Tryton, by their extensions. */
const readers: Record<string, (text: string) => Row[]> = {
  'gnucash-xea': (text) =>
    [...text.matchAll(/<gnc:account\b[^>]*>(.*?)<\/gnc:account>/gs)].map(([, account = '']) => ({
      code: first(account, '<act:code>(.*?)</act:code>'),
      name: first(account, '<act:name>(.*?)</act:name>'),
      value: first(account, '<act:description>(.*?)</act:description>'),
    })),
  kmt: (text) =>
    [...text.matchAll(/<account\b[^>]*\bname="([^"]+)"/g)].map(([, name]) => ({
      code: null,
      name: decoded(name),
      value: null,
    })),
  sql: (text) => {
    const insert = /insert into chart[^;]*?values\s*\(\s*'([^']*)',\s*'((?:[^']|'')*)'/gi;
    return [...text.matchAll(insert)].map(([, code = '', name = '']) => ({
      code,
      name: name.replaceAll("''", "'"),
      value: null,
    }));
  },
  xml: (text) =>
    [...text.matchAll(/<record model="account\.account\.template"[^>]*>(.*?)<\/record>/gs)].map(
      ([, record = '']) => ({
        code: first(record, '<field name="code">(.*?)</field>'),
        name: first(record, '<field name="name">(.*?)</field>'),
        value: null,
      }),
    ),
};

/** Reads the charts of accounts in a folder. Files that are not UTF-8, or have no rows, are left out. */
export function readCharts(folder: string): Row[][] {
  return globSync('**/*.{gnucash-xea,kmt,sql,xml}', { cwd: folder })
    .map((path) => {
      const text = readFileSync(join(folder, path));
      const reader = readers[path.slice(path.lastIndexOf('.') + 1)];
      return reader && Buffer.from(text.toString()).equals(text) ? reader(text.toString()) : [];
    })
    .filter(({ length }) => length > 0);
}
