// The gateway compares texts without accents, letter case and so on. What it finds is marked by the same rules.
import {
  foldedWords,
  foldText,
  foldWithSpellings,
  withoutPunctuation,
} from '../../../../src/lib/fold-text.ts';

/** A part of a text. */
export type Part = { readonly text: string; readonly isFound: boolean };

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * The parts of a text, of which those are found that are a word of the search. A text with a `prefix` is a code: punctuation does
 * not count in it, and the prefix is found where it begins.
 */
export function foundParts(text: string, search: string, prefix?: string): Part[] {
  const isCode = prefix !== undefined;
  const fold = isCode ? (part: string) => withoutPunctuation(foldText(part)) : foldText;
  // Folded as the text is: character by character, so that a hyphen does not count, whatever is beside it.
  const foldEach = (part: string) => Array.from(part, fold).join('');
  const words = foldedWords(search).map(foldEach).filter(Boolean);
  const start = isCode ? foldEach(prefix) : '';
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  const isFound = new Set<number>();
  for (const spell of [fold, ...(isCode ? [] : [asSpelled])]) {
    for (const index of indexesOf(words, start, characters.map(spell))) isFound.add(index);
  }
  const parts: Part[] = [];
  for (const [index, character] of characters.entries()) {
    const last = parts.at(-1);
    if (last?.isFound === isFound.has(index)) {
      parts[parts.length - 1] = { ...last, text: last.text + character };
    } else {
      parts.push({ text: character, isFound: isFound.has(index) });
    }
  }
  return parts;
}

/** A character as it is spelled without umlauts: `ue` for `ü`. */
function asSpelled(character: string): string {
  return foldWithSpellings(character).match(/\S+$/)?.[0] ?? foldText(character);
}

/**
 * The indexes of the characters that are a part of a word, or of the start. One character may be folded to several, or to none.
 */
function indexesOf(
  words: readonly string[],
  start: string,
  characters: readonly string[],
): number[] {
  const indexes = characters.flatMap((folded, index) => Array<number>(folded.length).fill(index));
  const text = characters.join('');
  const found: number[] = [];
  const add = (at: number, length: number) => {
    const [first = 0, last = 0] = [indexes[at], indexes[at + length - 1]];
    for (let index = first; index <= last; index += 1) found.push(index);
  };
  if (start && text.startsWith(start)) add(0, start.length);
  for (const word of words) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      add(at, word.length);
    }
  }
  return found;
}
