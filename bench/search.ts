/*
 * Searches charts of accounts as people type, prints how many of the rows are found, and how long a search of 50,000 rows takes.
 *
 *   node bench/search.ts FOLDER
 *
 * The charts are not part of this repository. Debian has some: apt-get download gnucash-common sql-ledger kmymoney-common
 * tryton-modules-account-fr tryton-modules-account-de-skr03, and unpack each with dpkg -x into the folder.
 */
import { prepareSearch, searchItems } from '../src/lib/search-text.ts';
import { type Row, readCharts } from './charts.ts';
import { median } from './table.ts';

const [, , folder = '.'] = process.argv;
const charts = readCharts(folder);

const prepare = (rows: readonly Row[]) =>
  prepareSearch(
    rows,
    ({ code, name, value }) => ({ code, others: [name, value] }),
    () => undefined,
  );

const printLine = (text: string) => void process.stdout.write(`${text}\n`);

/** What is typed for a text. A row counts if that differs. */
type Typings = Record<string, (text: string) => string>;

const spelled: Record<string, string> = {
  ...{ ä: 'ae', ö: 'oe', ü: 'ue', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue', ß: 'ss', œ: 'oe', æ: 'ae' },
  ...{ أ: 'ا', إ: 'ا', آ: 'ا', ٱ: 'ا', ة: 'ه', ى: 'ي' },
};
/** Spells those letters of a text that are in `letters` as people type them. */
const spell = (letters: RegExp) => (text: string) =>
  text.replace(letters, (one) => spelled[one] ?? one);
const wordsOf = (text: string) => text.match(/[\p{L}\p{M}\p{N}]{2,}/gu) ?? [];
const endsOf = (text: string) => [
  ...new Set([wordsOf(text).at(0) ?? '', wordsOf(text).at(-1) ?? '']),
];
const arabicDigit = (digit: string) => String.fromCharCode(0x660 + Number(digit));

const ofNames: Typings = {
  'without accents': (text) =>
    text
      .normalize('NFD')
      .replace(/\p{Mn}/gu, '')
      .normalize(),
  'decomposed (NFD)': (text) => text.normalize('NFD'),
  'composed (NFC)': (text) => text.normalize('NFC'),
  'half width (NFKC)': (text) => text.normalize('NFKC'),
  "' for ’": (text) => text.replaceAll('’', "'"),
  "’ for '": (text) => text.replaceAll("'", '’'),
  capitals: (text) => text.toUpperCase(),
  'small letters': (text) => text.toLowerCase(),
  'Turkish capitals': (text) => (/[ığş]/i.test(text) ? text.toLocaleUpperCase('tr') : text),
  'Turkish small letters': (text) => (/[ığş]/i.test(text) ? text.toLocaleLowerCase('tr') : text),
  'Greek capitals': (text) => (/\p{sc=Greek}/u.test(text) ? text.toLocaleUpperCase('el') : text),
  'a blank for a no-break space': (text) => text.replaceAll('\u00a0', ' '),
  'a hyphen for a dash': (text) => text.replace(/[–—]/g, '-'),
  'double blanks once': (text) => text.replace(/ {2,}/g, ' '),
  'no blanks at the ends': (text) => text.trim(),
  'soft hyphens left out': (text) => text.replaceAll('\u00ad', ''),
  'oe, ae for œ, æ': spell(/[œæ]/g),
  'ss for ß': spell(/ß/g),
  'ae, oe, ue for ä, ö, ü': (text) => spell(/[äöüÄÖÜ]/g)(text.normalize()),
  'bare alef, heh, yeh': spell(/[أإآٱةى]/g),
  'two words, in the other order': (text) => wordsOf(text).slice(0, 2).reverse().join(' '),
  'first and last word': (text) => endsOf(text).join(' '),
};
const ofCodes: Typings = {
  'a code without dots, hyphens, blanks': (text) => text.replace(/[-. /+]/g, ''),
  'a code in Arabic digits': (text) => text.replace(/[0-9]/g, arabicDigit),
};

const chartsPrepared = await Promise.all(
  charts.map(async (rows) => ({ rows, prepared: await prepare(rows) })),
);
/** All rows with a text, each with its chart. */
const places = chartsPrepared.flatMap((chart) =>
  chart.rows.map((row, index) => ({ chart, row, index })),
);
type Place = (typeof places)[number];

/** Prints how many rows have what is typed for them, and how many of these are right. */
function print(
  title: string,
  typedFor: (row: Row) => string | null,
  isRight: typeof isFound,
): void {
  const asked = places.flatMap((place) => {
    const typed = typedFor(place.row)?.slice(0, 256) ?? '';
    return /[\p{L}\p{N}]/u.test(typed) ? [isRight(place, typed)] : [];
  });
  printShare(title, asked.length, asked.filter((right) => right).length);
}

function printShare(title: string, asked: number, right: number): void {
  if (asked === 0) return;
  printLine(`| ${title} | ${asked} | ${right} | ${((100 * right) / asked).toFixed(2)} % |`);
}

const isFound = ({ chart, index }: Place, typed: string) =>
  searchItems(chart.prepared, typed)?.includes(index) === true;

/** Whether the first that is found has the code of the row. */
function isFirst({ chart, row }: Place, typed: string): boolean {
  const [best = -1] = searchItems(chart.prepared, typed) ?? [];
  return chart.rows[best]?.code === row.code;
}

printLine(
  `${places.length} rows of ${charts.length} charts\n\n| Typed | Rows | Found | |\n|---|--:|--:|--:|`,
);
for (const [of, typings] of [
  ['name', ofNames],
  ['code', ofCodes],
] as const) {
  for (const [title, type] of Object.entries(typings)) {
    const typed = ({ [of]: text }: Row) =>
      text === null || type(text) === text ? null : type(text);
    print(title, typed, isFound);
  }
}

const plain = (code: string | null) => code?.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '') ?? '';

/** Rows that are copied from a table or a CSV file. */
const pasted: Record<string, (code: string, name: string) => string> = {
  'a pasted row': (code, name) => `${code}\t${name}`,
  'a row of a CSV file': (code, name) => `${code};${name}`,
  'a row of a CSV file, in quotes': (code, name) => `"${code}","${name.replaceAll('"', '""')}"`,
  'a code and a name, joined by _': (code, name) => `${code}_${name}`,
  'a code and a name, joined by --': (code, name) => `${code}--${name}`,
};
for (const [title, paste] of Object.entries(pasted)) {
  const typed = ({ code, name }: Row) => (code && name ? paste(code, name) : null);
  print(title, typed, isFound);
  print(`${title} is the first`, (row) => (plain(row.code) ? typed(row) : null), isFirst);
}
print('an exact code is the first', ({ code }) => (plain(code) ? code : null), isFirst);

/** Whether a row has one of the words, by a comparison that has nothing in common with the search. */
function hasOneOf(words: readonly string[], { code, name, value }: Row): boolean {
  const texts = [code, name, value].flatMap((text) => [text, text?.replaceAll('-', '') ?? '']);
  return words.some((word) => [...texts, plain(code)].some((text) => contains(text, word)));
}

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
    const words = endsOf(name ?? '');
    for (const { rows, prepared } of both) {
      for (const index of searchItems(prepared, words.join(' ')) ?? []) {
        found += 1;
        if (hasOneOf(words, rows[index] as Row)) withWord += 1;
      }
    }
  }
}
printShare('a row that is found has a word', found, withWord);

const rows = Array.from(
  { length: 50_000 },
  (_, n) => places[(n * 7919) % places.length]?.row as Row,
);

/** The median time of a call, in milliseconds. */
async function medianMs(times: number, run: () => unknown): Promise<number> {
  const results: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const start = performance.now();
    await run();
    results.push(performance.now() - start);
  }
  return median(results);
}

const prepared = await prepare(rows);
const preparingMs = await medianMs(11, () => prepare(rows));
printLine(`\n50,000 rows. Preparing: ${preparingMs.toFixed(1)} ms\n`);
printLine(
  '| Search | Found | Median, ms | Array.filter with localeCompare, ms |\n|---|--:|--:|--:|',
);
const searches = 'e|ta|tva|konto|4457|8|resultat|exercice resultat|assets|de la'.split('|');
for (const search of searches) {
  const found = searchItems(prepared, search)?.length;
  const words = search.split(' ');
  const hasAll = ({ code, name, value }: Row) =>
    words.every((word) => [code, name, value].some((text) => contains(text, word)));
  const ours = await medianMs(101, () => searchItems(prepared, search));
  const peer = await medianMs(3, () => rows.filter(hasAll));
  printLine(`| ${search} | ${found} | ${ours.toFixed(2)} | ${peer.toFixed(0)} |`);
}
