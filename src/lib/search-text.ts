import { foldedWords, foldText, foldWithSpellings, withoutPunctuation } from './fold-text.ts';

/** What is searched in an item of a list. */
export type ItemTexts = {
  readonly code: string | null;
  readonly others: readonly (string | null)[];
};

/** The texts of all items of a list, folded, each kind in one string. Searching it takes a tenth of searching the items. */
export type SearchText = {
  readonly others: Lines;
  /** The codes without punctuation, one line for each item. */
  readonly codes: Lines;
  /** The code of the item at an index, as it is. */
  readonly codeAt: (index: number) => string | null;
};

/** The texts of items in one string, in UTF-8. Those of each item begin with a line break, at its `starts`. The last start is the end. */
type Lines = { readonly text: string; readonly starts: Uint32Array };

/** How many characters are folded at a time, in about a millisecond. */
const PART_LENGTH = 16_384;
/** How many characters of a text are searched. */
const MAX_LENGTH = 10_000;
/**
 * How many times as long as the texts their folded forms may be, in UTF-8. Umlauts may double a text. A ligature may become 18
 * letters, so texts of ligatures are not folded.
 */
const MAX_GROWTH = 2;

/** Prepares the texts of items for searches. Waits for `turn` before each part of the work. */
export async function prepareSearch<Item>(
  items: readonly Item[],
  textsOf: (item: Item) => ItemTexts,
  turn: () => Promise<void> | undefined,
): Promise<SearchText> {
  const others = startLines(items.length, foldWithSpellings);
  const codes = startLines(items.length, foldCodes);
  for (let start = 0, end = 0; start < items.length; start = end) {
    await turn();
    let [texts, codeTexts] = ['', ''];
    while (end < items.length && texts.length + codeTexts.length < PART_LENGTH) {
      const item = textsOf(items[end] as Item); // The index is in range.
      texts += '\n';
      for (const text of item.others) if (text) texts += `${lineOf(text)} `;
      codeTexts += `\n${lineOf(item.code ?? '')}`;
      end += 1;
    }
    others.add(texts);
    codes.add(codeTexts);
  }
  const codeAt = (index: number) => textsOf(items[index] as Item).code; // The index is in range.
  return { others: others.lines(), codes: codes.lines(), codeAt };
}

/** A text in UTF-8, as a string with a character for each byte. V8 stores it with one byte for each. */
const bytesOf = (text: string) => Buffer.from(text).toString('latin1');

const foldCodes = (codes: string) => withoutPunctuation(foldText(codes));

/** What is searched of a text, in one line. */
function lineOf(text: string): string {
  const line = text.includes('\n') ? text.replaceAll('\n', ' ') : text;
  return line.length > MAX_LENGTH ? line.slice(0, MAX_LENGTH) : line;
}

/** Folds the texts of items part by part. */
function startLines(items: number, fold: (texts: string) => string) {
  const parts: string[] = [];
  const starts = new Uint32Array(items + 1);
  let [count, length] = [0, 0];
  return {
    /** Adds the texts of some items, as they are if their folded form is too long. */
    add(texts: string): void {
      const [bytes, folded] = [bytesOf(texts), bytesOf(fold(texts))];
      const part = folded.length <= bytes.length * MAX_GROWTH ? folded : bytes;
      for (let at = 0; at >= 0; at = part.indexOf('\n', at + 1)) {
        starts[count] = length + at;
        count += 1;
      }
      parts.push(part);
      length += part.length;
      starts[count] = length;
    },
    lines: (): Lines => ({ text: parts.join(''), starts }),
  };
}

/**
 * The indexes of the items in which every word of `search` occurs, in any order: in a text, or in the code without punctuation.
 * Those come first whose code says most of what was typed (`rankOf`). Undefined if the text has no letter and no digit.
 */
export function searchItems(prepared: SearchText, search: string): number[] | undefined {
  const { others, codes } = prepared;
  const words = wordsOf(search);
  const [first, ...more] = withoutParts(words);
  if (first === undefined) return undefined;
  const marks = marksFor(codes);
  mark(marks, others, first.text);
  mark(marks, codes, first.code);
  const hasAll = (index: number) => {
    const [texts, code] = [lineAt(others, index), lineAt(codes, index)];
    return more.every((word) => texts.includes(word.text) || code.includes(word.code));
  };
  const wanted = [...new Set([codeOf(search), ...words.map(({ code }) => code)])];
  const ranked: number[][] = Array.from({ length: LAST_RANK + 1 }, () => []);
  for (let index = 0; index < marks.length; index += 1) {
    if (marks[index] === 0 || (more.length > 0 && !hasAll(index))) continue;
    ranked[rankOf(prepared, index, wanted, search)]?.push(index);
  }
  return ranked.flat();
}

const LAST_RANK = 6;

/**
 * The rank of an item: its code is the text (0, or 1 if it is typed in another way), is a word of the text (2, or 3), begins with
 * the text (4), begins with a word of it (5), or none of this.
 *
 * @param wanted the text and its words, as codes are compared
 */
function rankOf(
  { codes: { text, starts }, codeAt }: SearchText,
  index: number,
  wanted: readonly string[],
  search: string,
): number {
  const start = (starts[index] ?? 0) + 1;
  const length = (starts[index + 1] ?? 0) - start;
  const begins = wanted.findIndex((one) => text.startsWith(one, start));
  if (begins < 0) return LAST_RANK;
  const same = wanted.findIndex((one) => one.length === length && text.startsWith(one, start));
  if (same < 0) return begins === 0 ? 4 : 5;
  return (same === 0 ? 0 : 2) + (search.includes(codeAt(index) ?? '') ? 0 : 1);
}

/** Marks the items whose code begins with a text, without regard to punctuation in either, with 1. */
export function markPrefix({ codes }: SearchText, prefix: string): Uint8Array {
  const marks = marksFor(codes);
  mark(marks, codes, codeOf(prefix), true);
  return marks;
}

/** A text as codes are compared. */
function codeOf(text: string): string {
  return bytesOf(foldCodes(text.replaceAll('\n', ' ')));
}

/** A word as it is searched in texts, and in codes. */
type Word = { readonly text: string; readonly code: string };

/** The words of a search that have a letter or digit, the longest first. */
function wordsOf(search: string): Word[] {
  return foldedWords(search)
    .map((text) => ({ text: bytesOf(text), code: bytesOf(withoutPunctuation(text)) }))
    .filter(({ code }) => code !== '')
    .sort((a, b) => b.text.length - a.text.length);
}

/** The words that are no part of a longer one. The first one occurs in the fewest items. */
function withoutParts(words: readonly Word[]): Word[] {
  return words.filter(
    ({ text }, n) => !words.slice(0, n).some((other) => other.text.includes(text)),
  );
}

/** A mark for each item, which is 0. */
function marksFor({ starts }: Lines): Uint8Array {
  return new Uint8Array(starts.length - 1);
}

/** Marks the items whose line contains a text, or begins with it, with 1. */
function mark(marks: Uint8Array, { text, starts }: Lines, wanted: string, isStart = false): void {
  if (wanted === '') {
    marks.fill(1);
    return;
  }
  let next = 0; // The item behind the one that was found last.
  for (let at = text.indexOf(wanted, 1); at >= 0; at = text.indexOf(wanted, starts[next])) {
    while ((starts[next] ?? Infinity) < at) next += 1;
    if (!isStart || at === (starts[next - 1] ?? 0) + 1) marks[next - 1] = 1;
  }
}

function lineAt({ text, starts }: Lines, index: number): string {
  return text.slice(starts[index], starts[index + 1]);
}
