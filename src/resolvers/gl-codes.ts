import { z } from 'zod';
import type { QueryGlCodesArgs, QueryResolvers } from '../generated/resolvers.ts';
import { type GlCodeEntity, readGlCodes } from './gl-code.ts';
import type { Limits } from './loaders.ts';
import { outcome } from './outcome.ts';
import { wellFormed } from './well-formed.ts';

const notNegative = z.number().min(0, 'is negative');

/** Checks of arguments that the schema cannot express. */
export const glCodesArgs = z.object({
  project: wellFormed,
  search: wellFormed.nullish(),
  skip: notNegative,
  first: notNegative.nullish(),
});

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, context) => {
  const loaders = context.loaders(); // Throws before anything else if the request has no token.
  const limits = context.limits();
  const { list: all, ...status } = await readGlCodes(loaders, args);
  const { skip } = args;
  const end = Math.min(all.length, skip + (args.first ?? all.length));
  const isFiltered = Boolean(args.only || args.search);
  const isCut = skip > 0 || end < all.length;
  // A filter may keep all codes. `skip` and `first` apply after it.
  if (isFiltered || isCut)
    await limits.reserveCopy(isFiltered ? all.length : Math.max(0, end - skip));
  const kept = isFiltered ? await filterCodes(all, args, limits) : all;
  const codes = isCut ? kept.slice(skip, end) : kept;
  const totalCount = kept.length;
  return outcome(status, { __typename: 'GlCodeList', codes, totalCount });
};

/** How many characters are searched at once. Searching a name of 8 MB that nearly matches takes hundreds of milliseconds. */
const PART_LENGTH = 65_536;

/** Filters a list by `only` and `search`, and waits for CPU time meanwhile. */
export async function filterCodes<Code extends Pick<GlCodeEntity, 'code' | 'name' | 'value'>>(
  codes: readonly Code[],
  { only, search }: Pick<QueryGlCodesArgs, 'only' | 'search'>,
  limits: Pick<Limits, 'visit'>,
): Promise<Code[]> {
  const set = only && new Set(only);
  const allowed = set ? codes.filter(({ code }) => code !== null && set.has(code)) : codes;
  if (!search) return [...allowed];
  // A regular expression is faster than converting each text to lower case.
  const pattern = new RegExp(RegExp.escape(search), 'iu');
  const found: Code[] = [];
  await limits.visit(partsOf(allowed, search.length * 2), ([code, parts]) => {
    if (found.at(-1) === code) return; // An earlier part of this code matched.
    if (parts.some((part) => part !== null && pattern.test(part))) found.push(code);
  });
  return found;
}

/** The texts of each code. A long text is in parts. */
function* partsOf<Code extends Pick<GlCodeEntity, 'code' | 'name' | 'value'>>(
  codes: readonly Code[],
  overlap: number,
): Generator<[code: Code, parts: (string | null)[]]> {
  for (const item of codes) {
    const texts = [item.code, item.name, item.value];
    if (!texts.some(isLong)) yield [item, texts];
    else
      for (const text of texts) for (const part of cut(text ?? '', overlap)) yield [item, [part]];
  }
}

const isLong = (text: string | null) => text !== null && text.length > PART_LENGTH;

/** The parts of a text. Each begins with the last `overlap` characters of the part before. */
function* cut(text: string, overlap: number): Generator<string> {
  for (let start = 0; start < text.length; start += PART_LENGTH) {
    const end = characterAt(text, start + PART_LENGTH);
    yield text.slice(characterAt(text, start - overlap), end);
  }
}

/** The index where a character begins. `index` may be that of the second half of a surrogate pair. */
function characterAt(text: string, index: number): number {
  const isInside = (text.codePointAt(index - 1) ?? 0) > 0xffff;
  return Math.max(0, isInside ? index - 1 : index);
}
