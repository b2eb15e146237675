import { z } from 'zod';
import type { QueryGlCodesArgs, QueryResolvers } from '../generated/resolvers.ts';
import { type GlCodeEntity, readGlCodes } from './gl-code.ts';
import type { Loaders } from './loaders.ts';
import { outcome } from './outcome.ts';
import { type Searchable, searchItems } from './search-text.ts';
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
  const kept = isFiltered ? await filterCodes(all, args, loaders) : all;
  const codes = isCut ? kept.slice(skip, end) : kept;
  const totalCount = kept.length;
  return outcome(status, { __typename: 'GlCodeList', codes, totalCount });
};

/** Filters a list by `only` and `search`. */
export async function filterCodes<Code extends Texts>(
  codes: Searchable<Code>,
  { only, search }: Pick<QueryGlCodesArgs, 'only' | 'search'>,
  loaders: Pick<Loaders, 'searchText'>,
): Promise<Code[]> {
  const found = search
    ? await searchItems(codes, await loaders.searchText(codes, textsOf), search)
    : codes;
  const set = only && new Set(only);
  return found.filter(({ code }) => !set || (code !== null && set.has(code)));
}

type Texts = Pick<GlCodeEntity, 'code' | 'name' | 'value'>;

/** The texts of a code that are searched. */
const textsOf = ({ code, name, value }: Texts) => [code, name, value];
