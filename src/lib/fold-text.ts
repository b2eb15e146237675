/*
 * Folds texts, so that a text that is typed in another way than it is stored has the same folded form: without letter case,
 * accents, composition, width, soft hyphens, apostrophes and dashes. Letters that Unicode does not decompose become what people
 * type in their place.
 */

/**
 * Letters that NFKD does not decompose, in lower case, and what people type for them. The Latin ones are those of Latin-ASCII in
 * Unicode's CLDR. The Arabic and Persian ones are those of ArabicNormalizer and PersianNormalizer in Apache Lucene. The others
 * are the letters whose upper case is that of another letter.
 */
const letters = new Map([
  ...pairs('ß:ss æ:ae œ:oe ø:o ł:l đ:d ð:d þ:th ħ:h ŧ:t ŋ:n ĸ:q ı:i'),
  ...pairs('ة:ه ە:ه ہ:ه ى:ي ی:ي ے:ي ک:ك ٱ:ا'), // Forms of heh, of yeh, of kaf and of alef.
  ...pairs('ς:σ ᲀ:в ᲁ:д ᲂ:о ᲃ:с ᲄ:т ᲅ:т ᲆ:ъ ᲇ:ѣ ᲈ:ꙋ'),
]);

function pairs(text: string): [string, string][] {
  return text.split(' ').map((pair) => pair.split(':', 2) as [string, string]);
}

/**
 * Accents, vowel marks and tatweel, and characters that are not visible, such as soft hyphens and marks of direction. In other
 * scripts, such as Devanagari and Thai, marks are vowels, which people do not leave out.
 */
const ignored =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Arabic}\p{sc=Cyrillic}\p{sc=Greek}\p{sc=Hebrew}\p{sc=Latin}\p{sc=Syriac}]]\u0640\p{Cf}]+/gv;
const special = new RegExp(`[${[...letters.keys()].join('')}]`, 'g');
const otherDigit = /[\p{Nd}--[0-9]]/gv;
const umlaut = /([aou])\u0308/g;
const wordWithUmlaut = /(?<![^\0-\x20])[^\0-\x20]*?\u0308[^\0-\x20]*/g;
const syllables = /[\u1100-\u11ff]+/g;
// Before NFKD, which makes a blank and an accent of the acute accent.
const accentAsApostrophe = /[\u00b4\u0384\u1ffd]/g;
const apostrophe = /[\u02b9\u02bb-\u02bd\u02c8\u2018-\u201b\u2032\u2035]/g;
const dash = /[\u2010-\u2015\u2212\u2e3a\u2e3b\ufe58\u058a\u05be]/g;
/** An apostrophe or a dash, but not between digits: the 2 and the 0 in 2019-2020 are no neighbours. */
const separator = /(?<![0-9])['`-]|['`-](?![0-9])/g;

/** The folded form of a text. A line break stays one, so texts may be folded together, which takes less time. */
export function foldText(text: string): string {
  return foldDecomposed(decompose(text));
}

/** The folded form, in which each word with umlauts is followed by its spelling without them: with `ue` for `ü`. */
export function foldWithSpellings(text: string): string {
  const spelled = decompose(text).replace(wordWithUmlaut, (word) => {
    const spelling = word.replace(umlaut, '$1e');
    return spelling === word ? word : `${word} ${spelling}`;
  });
  return foldDecomposed(spelled);
}

function decompose(text: string): string {
  return text.replace(accentAsApostrophe, "'").normalize('NFKD').toLowerCase();
}

function foldDecomposed(text: string): string {
  return text.replace(/[^\0-\x7f]+/g, foldBeyondAscii).replace(separator, '');
}

/** The folded forms of single characters, because most texts have few that are not ASCII: marks, apostrophes and dashes. */
const known = new Map<string, string>();

function foldBeyondAscii(characters: string): string {
  const result = known.get(characters);
  if (result !== undefined) return result;
  const folded = characters
    .replace(ignored, '')
    .replace(special, (letter) => letters.get(letter) ?? letter)
    .replace(otherDigit, digitOf)
    .replace(syllables, (jamo) => jamo.normalize('NFC'))
    .replace(apostrophe, "'")
    .replace(dash, '-');
  if (characters.length === 1) known.set(characters, folded);
  return folded;
}

/** The ASCII digit with the same value. Unicode assigns the digits of a script ten code points in order. */
function digitOf(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
}

/** A folded text without punctuation, symbols and blanks, as codes are compared. Line breaks stay. */
export function withoutPunctuation(folded: string): string {
  return folded.replace(/[^\p{L}\p{N}\p{M}\n]+/gu, '');
}

/** What is between two words: blanks, and marks that are not a part of a number, as in a row of a CSV file. */
const betweenWords = /[\s;|_]+|(?<![0-9])[,:/]|[,:/](?![0-9])/;
/** What SQL-Ledger and its successors write between a code and its name, and what other programs make of it. */
const betweenCodeAndName = /--+|—/g;
/** Quotes and brackets around a word, and marks behind it. */
const aroundWord = /^[\p{Ps}\p{Pi}"]+|[\p{Pe}\p{Pf}",;:.]+$/gu;

/** The folded words of a search. Some have no letter and no digit. */
export function foldedWords(search: string): string[] {
  return foldText(search.replace(betweenCodeAndName, ' '))
    .split(betweenWords)
    .map((word) => word.replace(aroundWord, ''));
}
