import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { markPrefix, prepareSearch, searchItems } from '../../src/lib/search-text.ts';

type Item = readonly [code: string | null, ...others: (string | null)[]];

const prepare = (items: readonly Item[], turn: () => Promise<void> | undefined = () => undefined) =>
  prepareSearch(items, ([code, ...others]) => ({ code, others }), turn);

/** The items that a search finds, in their order. */
async function search(items: readonly Item[], text: string) {
  return searchItems(await prepare(items), text)?.map((index) => items[index] as Item);
}

test.each<[typed: string, ...Item]>([
  ['TVA collectee', '445710', 'TVA collectée'],
  ['exercice résultat', '12', 'Résultat de l’exercice'],
  ["resultat de l'exercice", '12', 'Résultat de l’exercice'],
  ['Créances diverses'.normalize('NFD'), '276100', 'Créances diverses'],
  ['267.100', '267100', 'Créances rattachées'],
  ['267100  ', '267100', 'Créances rattachées'],
  ['100100', '10.01.00', 'Μικτή αξία'],
  ['22-010-100', '22.010.100', 'Rozliczenie'],
  ['22 010 100', '22.010.100', 'Rozliczenie'],
  ['ΜΙΚΤΗ ΑΞΙΑ', '10.01.00', 'Μικτή αξία (κόστος)'],
  ['445710 TVA collectée', '445710', 'TVA collectée'],
  ['445710\tTVA collectée', '445710', 'TVA collectée'],
  ['445710 - TVA collectée', '445710', 'TVA collectée'],
  ['"445710";"TVA collectée"', '445710;"TVA', 'collectée'],
  ['"TVA collectée",', '445710', 'TVA collectée'],
  ["'445710", '445710', 'TVA collectée'],
  ['445710;TVA collectée', '445710', 'TVA collectée'],
  ['445710,TVA collectée', '445710', 'TVA collectée'],
  ['"445710","TVA collectée"', '445710', 'TVA collectée'],
  ['445710;"TVA collectée";19,6', '445710', 'TVA collectée', '19,6'],
  ['445710|TVA collectée', '445710', 'TVA collectée'],
  ['4010_Kfz-Steuer', '4010', 'Kfz-Steuer'],
  ['4010/Kfz-Steuer', '4010', 'Kfz-Steuer'],
  ['4010:Kfz-Steuer', '4010', 'Kfz-Steuer'],
  ['1060--Checking Account', '1060', 'Checking Account'],
  ['1060—Checking Account', '1060', 'Checking Account'],
  ['Debitoren/Kreditoren', '1', 'Kreditoren_Debitoren'],
  ['AUSSENANLAGEN', '0111', 'Außenanlagen für Geschäfts-, Fabrik- und'],
  ['Grundstuecke', '0050', 'Grundstücke, grundstücksgleiche Rechte'],
  ['grundstucke', '0050', 'Grundstücke, grundstücksgleiche Rechte'],
  ['iştiraklerden', '132', 'İŞTİRAKLERDEN ALACAKLAR'],
  ['DİĞER HAZIR', '108', 'Diğer Hazır Değerler'],
  ['ضريبه القيمه', '100103', 'ضريبة القيمة المضافة المدينة'],
  ['١٠٠١٠١', '100101', 'حق استخدام الأصول (IFRS 16)'],
  ['מלאי - חומרי גלם', '101140', 'מלאי- חומרי גלם'],
  ['未払金（クレジット）', '220700', '未払金(クレジット)'],
  ['売掛', '126000', '売掛金'],
  ['외상 매출금', '111301', '외상매출금'],
  ['외상매출금'.normalize('NFD'), '111301', '외상매출금'],
  ['urzedem skarbowym', '22.000.100', 'Rozrachunki z urzędem skarbowym z tytułu'],
  ['igangvaerende', '1300', 'Regulering igangværende arbejder'],
  ['moms VMB 25 %', '2616', 'Utgående moms VMB 25\u00a0%'],
  ['email', '6', 'E-Mail'],
  ['Wareneingangs-Verrechnungskonto', '70001', 'Wareneingangs-\u00adVerrechnungskonto'],
  ['13o Salário', '2.1.6.02', 'Provisão de 13º Salário'],
  ['travel 4010', '4010', null, 'Travel'],
])('%j is found in the row %j', async (typed, ...item) => {
  const others: Item[] = [['9', 'zzz', null], [null, null, ''], item, ['8.8', 'yyy']];
  expect(await search(others, typed)).toEqual([item]);
});

test.each<[typed: string, ...Item]>([
  ['axb', '1', 'a.b'],
  ['a.b', '1', 'axb'],
  ['92', '1', '2019-2020'],
  ['bc', '1', 'ab', 'cd'],
  ['1a', '1', 'a'],
  ['travel rent', '1', 'Travel'],
  ['15', '2', '1.5'],
  ['1.5', '2', '15'],
  ['19,6', '2', '6 und 19'],
  ['2019/20', '2', '20, 2019'],
])('%j is not found in the row %j', async (typed, ...item) => {
  expect(await search([item], typed)).toEqual([]);
});

test.each<[typed: string, given: string[], expected: string[]]>([
  // The code as it is typed, the same code in another way, codes that begin with it, and the others.
  [
    '8',
    ['18', '8.1', '80', '7 eight 8', '-8', '8', ' 8'],
    ['8', '-8', '8.1', '80', '18', '7 eight 8', ' 8'],
  ],
  ['8.1', ['81', '18', '8.1', '8.11'], ['8.1', '81', '8.11']],
  ['10', ['1.0', '10'], ['10', '1.0']],
  ['1.0', ['10', '1.0'], ['1.0', '10']],
  ['ab', ['AB', 'ab'], ['ab', 'AB']],
  // The same by a word of the text. The whole text is better than one word of it.
  [
    '10 Capital',
    ['1000 Capital', '2 Capital 10', '1.0 Capital', '10 Capital'],
    ['10 Capital', '1.0 Capital', '1000 Capital', '2 Capital 10'],
  ],
  ['Capital 10', ['1000 Capital', '10 Capital'], ['10 Capital', '1000 Capital']],
  ['4457--TVA', ['44570 TVA', '4457 TVA'], ['4457 TVA', '44570 TVA']],
  ['4457;TVA', ['44570 TVA', '14457 TVA', '4457 TVA'], ['4457 TVA', '44570 TVA', '14457 TVA']],
  ['8 Résultat', ['80 Résultat', '8 Resultat'], ['8 Resultat', '80 Résultat']],
  [
    '10 1000 Aktien',
    ['1000 10 Aktien', '100 1000 Aktien', '10 1000 Aktien'],
    ['1000 10 Aktien', '10 1000 Aktien', '100 1000 Aktien'],
  ],
  ['a-b c', ['1 c ab', 'ab c', 'abc', 'abcd'], ['abc', 'ab c', 'abcd', '1 c ab']],
])('the best codes for %j come first', async (typed, given, expected) => {
  const items = given.map((row): Item => {
    const [code = '', ...words] = row.split(' ');
    return [code, words.join(' ')];
  });
  const found = await search(items, typed);
  expect(found?.map((item) => item.join(' ').trimEnd())).toEqual(expected);
});

test('a text without letters and digits is not searched here', async () => {
  const prepared = await prepare([['1', '- %']]);
  for (const text of ['', ' ', '-', '% .', '\0', '😀', '\u00ad']) {
    expect([text, searchItems(prepared, text)]).toEqual([text, undefined]);
  }
});

test('codes that begin with a text are marked, without regard to punctuation and case', async () => {
  const items: Item[] = [
    ['44'],
    ['4.4.5'],
    ['144'],
    [null],
    ['4 4'],
    ['40'],
    ['', '44'],
    ['A-44'],
    ['44\n1'],
  ];
  const marked = async (prefix: string) => {
    const marks = markPrefix(await prepare(items), prefix);
    return items.flatMap(([code], index) => (marks[index] ? [code] : []));
  };
  expect(await marked('44')).toEqual(['44', '4.4.5', '4 4', '44\n1']);
  expect(await marked('4.4')).toEqual(['44', '4.4.5', '4 4', '44\n1']);
  expect(await marked('٤٤')).toEqual(['44', '4.4.5', '4 4', '44\n1']);
  expect(await marked('a4')).toEqual(['A-44']);
  expect(await marked('.')).toEqual(items.map(([code]) => code));
});

test('every row is found by any of its words, in any order, and no row without all words', async () => {
  const word = fc.string({
    unit: fc.constantFrom('a', 'B', 'é', 'ü', '1', 'ß'),
    minLength: 1,
    maxLength: 3,
  });
  const text = fc.option(fc.array(word, { maxLength: 4 }).map((words) => words.join(' ')));
  const property = fc.asyncProperty(
    fc.array(fc.tuple(text, text, text), { maxLength: 12 }),
    fc.array(word, { minLength: 1, maxLength: 3 }),
    async (items, words) => {
      const plain = (one: string) =>
        one.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss').toLowerCase();
      const spelled = (one: string) => plain(one.replaceAll('ü', 'ue'));
      const found = items.filter(([code, ...others]) =>
        words.every((typed) => {
          const wanted = plain(typed);
          const isIn = others.some(
            (one) => one && [plain(one), spelled(one)].some((form) => form.includes(wanted)),
          );
          return (
            isIn ||
            plain(code ?? '')
              .replaceAll(' ', '')
              .includes(wanted)
          );
        }),
      );
      const result = await search(items, words.join('  '));
      expect(new Set(result)).toEqual(new Set(found));
      expect(result).toHaveLength(found.length);
    },
  );
  await fc.assert(property);
});

test('a long list is prepared in turns, with the same result', async () => {
  const items = Array.from(
    { length: 5000 },
    (_, n): Item => [`C.${n}`, `Näme ${n}`, n % 7 ? null : 'Vålue'],
  );
  let turns = 0;
  const prepared = await prepare(items, async () => {
    turns += 1;
  });
  expect(turns).toBeGreaterThan(4);
  const [first] = items;
  for (const [text, count] of [
    ['naeme 4999', 1],
    ['value', 715],
    ['c4', 1111],
  ] as const) {
    expect([text, searchItems(prepared, text)?.length]).toEqual([text, count]);
  }
  expect(first && searchItems(prepared, 'C0')).toEqual([0]);
});

test('a text that folding would make many times as long stays as it is, and so do its neighbours', async () => {
  const items: Item[] = [
    ['1', '\ufdfa'.repeat(100)],
    ['2', 'Ärger\nÜbel'],
    ['3', 'b'],
  ];
  const prepared = await prepare(items);
  expect(prepared.others.text.length).toBeLessThan(400);
  expect(searchItems(prepared, 'b')).toEqual([1, 2]);
  expect(searchItems(prepared, '2')).toEqual([1]);
});

test('the first 10,000 characters of a text are searched', async () => {
  const prepared = await prepare([[`${'1'.repeat(9999)}23`, `${'a'.repeat(9998)} bc`]]);
  expect(['b', 'c', '2', '3'].map((text) => searchItems(prepared, text)?.length)).toEqual([
    1, 0, 1, 0,
  ]);
});

test('a list in which each word has umlauts is found as it is spelled without them', async () => {
  const items = Array.from(
    { length: 500 },
    (_, n): Item => [`${n}`, `Übergröße Öl${n} Gebäudehöhe`],
  );
  const prepared = await prepare(items);
  for (const text of ['uebergroesse oel7', 'ubergrosse ol7', 'gebaeudehoehe 7']) {
    expect([text, searchItems(prepared, text)?.[0]]).toEqual([text, 7]);
  }
});
