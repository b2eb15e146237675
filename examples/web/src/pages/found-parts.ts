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

/** The parts of a text, of which those are found that are a word of the search. In a code, punctuation does not count. */
export function foundParts(text: string, search: string, isCode: boolean): Part[] {
  const fold = isCode ? (part: string) => withoutPunctuation(foldText(part)) : foldText;
  const words = foldedWords(search).map(fold).filter(Boolean);
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  const isFound = new Set<number>();
  for (const spell of [fold, ...(isCode ? [] : [asSpelled])]) {
    for (const index of indexesOf(words, characters.map(spell))) isFound.add(index);
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
  return foldWithSpellings(character).match(/\S+$/)?.[0] ?? character;
}

/** The indexes of the characters that are a part of a word. One character may be folded to several, or to none. */
function indexesOf(words: readonly string[], characters: readonly string[]): number[] {
  const indexes = characters.flatMap((folded, index) => Array<number>(folded.length).fill(index));
  const text = characters.join('');
  return words.flatMap((word) => {
    const found: number[] = [];
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const [first = 0, last = 0] = [indexes[at], indexes[at + word.length - 1]];
      for (let index = first; index <= last; index += 1) found.push(index);
    }
    return found;
  });
}
