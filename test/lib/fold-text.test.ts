import { expect, test } from '@jest/globals';
import {
  foldedWords,
  foldText,
  foldWithSpellings,
  withoutPunctuation,
} from '../../src/lib/fold-text.ts';

/** All characters but surrogates. */
const all = Array.from({ length: 0x110000 }, (_, n) => n)
  .filter((n) => n < 0xd800 || n > 0xdfff)
  .map((n) => String.fromCodePoint(n));
const isUnassigned = (char: string) => /[\p{Cn}\p{Co}]/u.test(char);
const assigned = all.filter((char) => !isUnassigned(char));

/** The characters that have another folded form when they are changed. */
function differing(change: (char: string) => string): string {
  const changed = assigned.map((char) => [char, change(char)] as const);
  const others = changed.filter(([char, next]) => next !== char);
  return others.flatMap(([char, next]) => (foldText(next) === foldText(char) ? [] : char)).join('');
}

test('a folded text is not folded further', () => {
  expect(differing(foldText)).toBe('');
});

test('what Unicode has not assigned stays as it is', () => {
  const text = all.filter(isUnassigned).join('');
  expect(foldText(text) === text).toBe(true);
});

test.each(['NFC', 'NFD', 'NFKC', 'NFKD'])('a text in %s has the same folded form', (form) => {
  // The acute accent and its like are apostrophes here, and a blank with an accent in a compatibility form.
  const own = form.startsWith('NFK') ? '\u00b4\u0384\u0385\u1fee\u1ffd' : '';
  expect(differing((char) => char.normalize(form)).replace(new RegExp(`[${own}]`, 'g'), '')).toBe(
    '',
  );
});

test('texts that differ by letter case only have the same folded form', () => {
  const cased = assigned.filter((char) => /\p{Changes_When_Casemapped}/u.test(char));
  const text = cased.join('');
  const missing = cased.flatMap((char) => {
    const equal = text.match(new RegExp(char, 'giu')) ?? [];
    return equal.filter((other) => foldText(other) !== foldText(char));
  });
  // U+0345 is a mark in lower case, and a letter in upper case.
  expect([...new Set(missing)].join('')).toMatch(/^[\u0345\u0399\u03b9\u1fbe]*$/);
});

test.each([
  ['Créances', 'creances'],
  ['CRÉANCES', 'creances'],
  ['Straße STRAẞE', 'strasse strasse'],
  ['Œuvres, æ Ø Ł Đ ð þ ħ', 'oeuvres, ae o l d d th h'],
  ['İŞTİRAKLERDEN ALICILAR ıI', 'istiraklerden alicilar ii'],
  ['ΜΙΚΤΗ Μικτή ΟΔΟΣ οδος', 'μικτη μικτη οδοσ οδοσ'],
  ['Ёлка Йод', 'елка иод'],
  ['ضَرِيبَة أخرى إٱآ کی ـ', 'ضريبه اخري ااا كي '],
  ['١٠٠١٠١ ۱۰۰۱۰۱ १२३ １２３ ᠐᠙ 𞥐𞥙', '100101 100101 123 123 09 09'],
  ['ﾃﾞｰﾀ データ', 'テータ テータ'],
  ['외상매출금', '외상매출금'],
  ['（クレジット） ℡ ½', '(クレシット) tel 1⁄2'],
  ["l'exercice l’exercice lʼexercice l´exercice l‘exercice", Array(5).fill('lexercice').join(' ')],
  ['e-mail e‐mail e–mail e—mail', 'email email email email'],
  ["2019-2020 2019–2020 1'000 1’000 -5 5-", "2019-2020 2019-2020 1'000 1'000 5 5"],
  ['Wareneingangs-\u00adVerrechnungs\u200bkonto\ufeff', 'wareneingangsverrechnungskonto'],
  ['25\u00a0% a\u202fb', '25 % a b'],
  ['हिन्दी ไทย', 'हिन्दी ไทย'],
])('%j is folded to %j', (text, folded) => {
  expect(foldText(text)).toBe(folded);
  expect(foldText(text.normalize('NFD'))).toBe(folded);
});

test('a word with umlauts is followed by the same word, spelled without them', () => {
  const text = '\nGrundstücke, Gebäude\nMiete Öl\nNoël und über';
  for (const given of [text, text.normalize('NFD')]) {
    expect(foldWithSpellings(given)).toBe(
      '\ngrundstucke, grundstuecke, gebaude gebaeude\nmiete ol oel\nnoel und uber ueber',
    );
  }
  expect(foldWithSpellings('\nMiete')).toBe('\nmiete');
});

test('a code is compared without punctuation, symbols and blanks', () => {
  expect(withoutPunctuation('10.01-00/a b+c_\n٣')).toBe('100100abc\n٣');
});

test.each<[search: string, words: string[]]>([
  ['445710\tTVA collectée', ['445710', 'tva', 'collectee']],
  ['"445710";"TVA ""collectée"""', ['445710', 'tva', 'collectee']],
  ['4010_Kfz-Steuer/Inland: (alt)', ['4010', 'kfzsteuer', 'inland', 'alt']],
  ['19,6 % 2019/20 10:30 4010_1. Bank', ['19,6', '%', '2019/20', '10:30', '4010', '1', 'bank']],
])('the words of %j', (search, words) => {
  expect(foldedWords(search).filter(Boolean)).toEqual(words);
});
