/*
 * Searches charts of accounts as people type, prints how many of the rows are found, and how long a search of 50,000 rows takes.
 *
 *   node bench/search.ts FOLDER
 *
 * The charts are not part of this repository. Debian has some: apt-get download gnucash-common sql-ledger kmymoney-common
 * tryton-modules-account-fr tryton-modules-account-de-skr03, and unpack each with dpkg -x into the folder.
 */
import { prepareSearch, type SearchText, searchItems } from '../src/lib/search-text.ts';
import { type Row, readCharts } from './charts.ts';

const [, , folder = '.'] = process.argv;
const charts = readCharts(folder);

const prepare = (rows: readonly Row[]) =>
  prepareSearch(
    rows,
    ({ code, name, value }) => ({ code, others: [name, value] }),
    () => undefined,
  );

const printLine = (text: string) => void process.stdout.write(`${text}\n`);

/** What is typed for a name, or for a code. The row counts if that differs. */
type Typing = { title: string; of: 'code' | 'name'; type: (text: string) => string };

const arabic: Record<string, string> = { أ: 'ا', إ: 'ا', آ: 'ا', ٱ: 'ا', ة: 'ه', ى: 'ي' };
const spelled: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue' };
const wordsOf = (text: string) => text.match(/[\p{L}\p{M}\p{N}]{2,}/gu) ?? [];
const inArabicDigits = (text: string) =>
  text.replace(/[0-9]/g, (digit) => String.fromCharCode(0x660 + Number(digit)));

const typings: Typing[] = [
  {
    title: 'without accents',
    of: 'name',
    type: (text) =>
      text
        .normalize('NFD')
        .replace(/\p{Mn}/gu, '')
        .normalize(),
  },
  { title: 'decomposed (NFD)', of: 'name', type: (text) => text.normalize('NFD') },
  { title: 'composed (NFC)', of: 'name', type: (text) => text.normalize('NFC') },
  { title: 'half width (NFKC)', of: 'name', type: (text) => text.normalize('NFKC') },
  { title: "' for ’", of: 'name', type: (text) => text.replaceAll('’', "'") },
  { title: "’ for '", of: 'name', type: (text) => text.replaceAll("'", '’') },
  { title: 'capitals', of: 'name', type: (text) => text.toUpperCase() },
  { title: 'small letters', of: 'name', type: (text) => text.toLowerCase() },
  {
    title: 'Turkish capitals',
    of: 'name',
    type: (text) => (/[ığş]/i.test(text) ? text.toLocaleUpperCase('tr') : text),
  },
  {
    title: 'Turkish small letters',
    of: 'name',
    type: (text) => (/[ığş]/i.test(text) ? text.toLocaleLowerCase('tr') : text),
  },
  {
    title: 'Greek capitals',
    of: 'name',
    type: (text) => (/\p{sc=Greek}/u.test(text) ? text.toLocaleUpperCase('el') : text),
  },
  {
    title: 'a blank for a no-break space',
    of: 'name',
    type: (text) => text.replaceAll('\u00a0', ' '),
  },
  { title: 'a hyphen for a dash', of: 'name', type: (text) => text.replace(/[–—]/g, '-') },
  { title: 'double blanks once', of: 'name', type: (text) => text.replace(/ {2,}/g, ' ') },
  { title: 'no blanks at the ends', of: 'name', type: (text) => text.trim() },
  { title: 'soft hyphens left out', of: 'name', type: (text) => text.replaceAll('\u00ad', '') },
  {
    title: 'oe, ae for œ, æ',
    of: 'name',
    type: (text) => text.replace(/œ/g, 'oe').replace(/æ/g, 'ae'),
  },
  { title: 'ss for ß', of: 'name', type: (text) => text.replaceAll('ß', 'ss') },
  {
    title: 'ae, oe, ue for ä, ö, ü',
    of: 'name',
    type: (text) => text.normalize().replace(/[äöüÄÖÜ]/g, (one) => spelled[one] ?? one),
  },
  {
    title: 'bare alef, heh, yeh',
    of: 'name',
    type: (text) => text.replace(/[أإآٱةى]/g, (one) => arabic[one] ?? one),
  },
  {
    title: 'two words, in the other order',
    of: 'name',
    type: (text) => wordsOf(text).slice(0, 2).reverse().join(' '),
  },
  {
    title: 'first and last word',
    of: 'name',
    type: (text) => [...new Set([wordsOf(text)[0], wordsOf(text).at(-1)])].join(' '),
  },
  {
    title: 'a code without dots, hyphens, blanks',
    of: 'code',
    type: (text) => text.replace(/[-. /+]/g, ''),
  },
  { title: 'a code in Arabic digits', of: 'code', type: inArabicDigits },
];

type Chart = { rows: Row[]; prepared: SearchText };
const chartsPrepared: Chart[] = await Promise.all(
  charts.map(async (rows) => ({ rows, prepared: await prepare(rows) })),
);
/** All rows with a text, each with its chart. */
const places = chartsPrepared.flatMap((chart) =>
  chart.rows.map((row, index) => ({ chart, row, index })),
);

/** Counts rows that a typing changes, and those of them that it finds. */
function count(isAsked: (place: (typeof places)[number]) => string | undefined): [number, number] {
  let [asked, found] = [0, 0];
  for (const place of places) {
    const typed = isAsked(place)?.slice(0, 256);
    if (!typed || !/[\p{L}\p{N}]/u.test(typed)) continue;
    asked += 1;
    if (searchItems(place.chart.prepared, typed)?.includes(place.index)) found += 1;
  }
  return [asked, found];
}

function print(title: string, [asked, found]: [number, number]): void {
  if (asked === 0) return;
  printLine(`| ${title} | ${asked} | ${found} | ${((100 * found) / asked).toFixed(2)} % |`);
}

printLine(
  `${places.length} rows of ${charts.length} charts\n\n| Typed | Rows | Found | |\n|---|--:|--:|--:|`,
);
for (const { title, of, type } of typings) {
  const changed = (text: string | null) => {
    const typed = text && type(text);
    return typed && typed !== text ? typed : undefined;
  };
  print(
    title,
    count(({ row }) => changed(row[of])),
  );
}
const plain = (code: string | null | undefined) =>
  code?.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** Rows that are copied from a table or a CSV file. */
const pasted: [title: string, paste: (code: string, name: string) => string][] = [
  ['a pasted row', (code, name) => `${code}\t${name}`],
  ['a row of a CSV file', (code, name) => `${code};${name}`],
  ['a row of a CSV file, in quotes', (code, name) => `"${code}","${name.replaceAll('"', '""')}"`],
  ['a code and a name, joined by _', (code, name) => `${code}_${name}`],
  ['a code and a name, joined by --', (code, name) => `${code}--${name}`],
];
for (const [title, paste] of pasted) {
  const text = ({ code, name }: Row) => (code && name ? paste(code, name) : undefined);
  print(
    title,
    count(({ row }) => text(row)),
  );
  printFirsts(`${title} is the first`, text);
}
printFirsts('an exact code is the first', ({ code }) => code ?? undefined);

/** The first that is found has the code as it was typed. */
function printFirsts(title: string, textOf: (row: Row) => string | undefined): void {
  let [codes, firsts] = [0, 0];
  for (const { chart, row } of places) {
    const text = plain(row.code) && textOf(row)?.slice(0, 256);
    if (!text) continue;
    const [best = -1] = searchItems(chart.prepared, text) ?? [];
    codes += 1;
    if (chart.rows[best]?.code === row.code) firsts += 1;
  }
  print(title, [codes, firsts]);
}

/** Whether a text has a word, by a comparison that has nothing in common with the search. */
function contains(text: string | null, word: string): boolean {
  for (let at = 0; text && at + word.length <= text.length; at += 1) {
    if (text.slice(at, at + word.length).localeCompare(word, 'en', { sensitivity: 'base' }) === 0)
      return true;
  }
  return false;
}

/** Searches two words of each seventh name in its chart and in the next one. Each row that is found must have one of them. */
let [found, withWord] = [0, 0];
for (const [n, chart] of chartsPrepared.entries()) {
  const both = [chart, chartsPrepared[(n + 1) % chartsPrepared.length] ?? chart];
  for (const { name } of chart.rows.filter((_, index) => index % 7 === 0)) {
    const words = [wordsOf(name ?? '')[0], wordsOf(name ?? '').at(-1)].filter(
      (one) => one !== undefined,
    );
    for (const { rows, prepared } of both) {
      for (const index of searchItems(prepared, words.join(' ')) ?? []) {
        const { code, name, value } = rows[index] as Row;
        const texts = [code, name, value].flatMap((text) => [
          text,
          text?.replaceAll('-', '') ?? '',
        ]);
        found += 1;
        if (
          words.some((word) => [...texts, plain(code) ?? ''].some((text) => contains(text, word)))
        )
          withWord += 1;
      }
    }
  }
}
print('a row that is found has a word', [found, withWord]);

const rows = Array.from(
  { length: 50_000 },
  (_, n) => places[(n * 7919) % places.length]?.row as Row,
);

function medianOf(times: number, run: () => unknown): number {
  const results = Array.from({ length: times }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  return results[Math.floor(times / 2)] ?? Number.NaN;
}

const preparations: number[] = [];
let prepared = await prepare(rows);
for (let n = 0; n < 11; n += 1) {
  const start = performance.now();
  prepared = await prepare(rows);
  preparations.push(performance.now() - start);
}
printLine(`\n50,000 rows. Preparing: ${preparations.sort((a, b) => a - b)[5]?.toFixed(1)} ms\n`);
printLine(
  '| Search | Found | Median, ms | Array.filter with localeCompare, ms |\n|---|--:|--:|--:|',
);
for (const search of [
  'e',
  'ta',
  'tva',
  'konto',
  '4457',
  '8',
  'resultat',
  'exercice resultat',
  'assets',
  'de la',
]) {
  const found = searchItems(prepared, search)?.length;
  const words = search.split(' ');
  const ours = medianOf(101, () => searchItems(prepared, search));
  const peer = medianOf(3, () =>
    rows.filter((row) =>
      words.every((word) => [row.code, row.name, row.value].some((text) => contains(text, word))),
    ),
  );
  printLine(`| ${search} | ${found} | ${ours.toFixed(2)} | ${peer.toFixed(0)} |`);
}
