import Papa from 'papaparse';

/** What the app reads in a file before it is sent. The ledger may read it differently. */
export type CsvReading =
  | {
      readonly kind: 'table';
      /** How the text is encoded, in words. */
      readonly encoding: string;
      /** Whether the encoding is only assumed. */
      readonly isGuess: boolean;
      /** Between two fields. Undefined if the rows have only one field. */
      readonly separator: string | undefined;
      /** The number of rows that are not empty. */
      readonly rows: number;
      /** The number of fields in the first row. */
      readonly columns: number;
      /** The number of the first row that has more or fewer fields, if there is one. */
      readonly unevenRow: number | undefined;
      readonly firstRows: readonly (readonly string[])[];
    }
  /** Why the file is no table, as a sentence. */
  | { readonly kind: 'none'; readonly fault: string };

/** How many rows and columns are shown. */
const [SHOWN_ROWS, SHOWN_COLUMNS] = [5, 20];

/** In how many characters they are, and the separator is sought. */
const SEARCHED = 100_000;

/** How files of other formats begin, with a character for each byte. */
const formats: readonly (readonly [start: RegExp, name: string])[] = [
  [/^\x89PNG/, 'a picture (PNG)'],
  [/^\xff\xd8\xff/, 'a picture (JPEG)'],
  [/^GIF8[79]a/, 'a picture (GIF)'],
  [/^RIFF....WEBP/s, 'a picture (WebP)'],
  [/^....ftyp(hei|mif1)/s, 'a picture (HEIC)'],
  [/^<svg\b/, 'a picture (SVG)'],
  [/^%PDF-/, 'a PDF document'],
  [/^PK\p{Cc}\p{Cc}/u, 'a workbook or an archive (ZIP)'],
  [/^\xd0\xcf\p{Cc}\xe0/u, 'an old workbook or document of Office'],
];

const byteOrderMarks: readonly (readonly [start: string, label: string, name: string])[] = [
  ['\xef\xbb\xbf', 'utf-8', 'UTF-8'],
  ['\xff\xfe', 'utf-16le', 'UTF-16'],
  ['\xfe\xff', 'utf-16be', 'UTF-16'],
];

/** Reads the content of a file as a table. */
export function readCsv(bytes: Uint8Array): CsvReading {
  const start = String.fromCharCode(...bytes.subarray(0, 12));
  const format = formats.find(([begin]) => begin.test(start))?.[1];
  if (format !== undefined) return { kind: 'none', fault: `This is ${format}, and no CSV file.` };
  const { text, encoding, isGuess } = decode(bytes, start);
  if (text.includes('\0')) return { kind: 'none', fault: 'This is no text, and so no CSV file.' };
  if (text.trim() === '') return { kind: 'none', fault: 'The file is empty.' };
  return { kind: 'table', encoding, isGuess, ...readTable(text) };
}

/** Only a byte order mark and valid UTF-8 tell an encoding. Any bytes are some text in an older one. */
function decode(bytes: Uint8Array, start: string) {
  const mark = byteOrderMarks.find(([begin]) => start.startsWith(begin));
  if (mark) {
    const [, label, encoding] = mark;
    return { text: new TextDecoder(label).decode(bytes), encoding, isGuess: false };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, encoding: 'UTF-8', isGuess: false };
  } catch {
    const text = new TextDecoder('windows-1252').decode(bytes);
    return { text, encoding: 'Windows-1252', isGuess: true };
  }
}

function readTable(text: string) {
  const start = text.slice(0, SEARCHED);
  const { data, meta } = Papa.parse<string[]>(start, { preview: SHOWN_ROWS, skipEmptyLines: true });
  const separator = data.some(({ length }) => length > 1) ? meta.delimiter : undefined;
  const firstRows = data.map((row) => row.slice(0, SHOWN_COLUMNS));
  return { separator, firstRows, ...countRows(text, separator) };
}

const [QUOTE, LINE_FEED, CARRIAGE_RETURN] = [34, 10, 13];

/** Counts the rows that are not empty. The library would take seconds for a million rows. */
function countRows(text: string, separator: string | undefined) {
  const between = separator?.charCodeAt(0);
  let [rows, columns, fields, start] = [0, 0, 1, 0];
  let unevenRow: number | undefined;
  let isQuoted = false;
  // Where a quote opens a quoted text: at the start of a field, and behind a quote that closed one, as two quotes mean one.
  let opensAt = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : LINE_FEED;
    if (code === QUOTE && (isQuoted || at === opensAt)) {
      isQuoted = !isQuoted;
      opensAt = at + 1;
    } else if (isQuoted && at < text.length) {
      // A separator or a line break is part of the text.
    } else if (code === between) {
      fields += 1;
      opensAt = at + 1;
    } else if (code === LINE_FEED || code === CARRIAGE_RETURN) {
      if (at > start) {
        rows += 1;
        if (rows === 1) columns = fields;
        else if (fields !== columns) unevenRow ??= rows;
      }
      [fields, start, opensAt] = [1, at + 1, at + 1];
    }
  }
  return { rows, columns, unevenRow };
}
