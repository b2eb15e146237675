import { z } from 'zod';
import type { QueryGlCodesArgs, QueryResolvers } from '../generated/resolvers.ts';
import { check, exactText, textLimits } from './input.ts';
import type { GlCodeEntity } from './loaders.ts';
import { outcome } from './outcome.ts';

const notNegative = z.number().min(0, 'is negative');

/** What the schema cannot express of the arguments. */
export const glCodesArgs = z.object({
  project: exactText(textLimits.project),
  only: z
    .array(z.string())
    .max(1000, { error: 'has more than 1000 codes', abort: true })
    .superRefine((codes, context) => {
      // Only the first: an operation may have two hundred of these lists.
      const index = codes.findIndex(({ length }) => length > textLimits.code);
      const message = `has more than ${textLimits.code} characters`;
      if (index >= 0) context.addIssue({ code: 'custom', path: [index], message });
    })
    .nullish(),
  search: exactText(textLimits.search).nullish(),
  skip: notNegative,
  first: notNegative.nullish(),
});

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, context) => {
  const loaders = context.loaders(); // Throws first if the token is missing.
  const limits = context.limits();
  check(glCodesArgs, args);
  const { list: all, ...status } = await loaders.glCodes(args);
  const { skip } = args;
  const end = Math.min(all.length, skip + (args.first ?? all.length));
  const isFiltered = Boolean(args.only || args.search);
  const isCut = skip > 0 || end < all.length;
  // A filter may keep all of them, before they are cut.
  if (isFiltered || isCut) await limits.holdCopy(isFiltered ? all.length : Math.max(0, end - skip));
  const kept = isFiltered ? filterCodes(all, args) : all;
  const codes = isCut ? kept.slice(skip, end) : kept;
  const totalCount = kept.length;
  return outcome(status, { __typename: 'GlCodeList', codes, totalCount });
};

/** Filters a list by `only` and `search`. */
export function filterCodes<Code extends Pick<GlCodeEntity, 'code' | 'name' | 'value'>>(
  codes: readonly Code[],
  { only, search }: Pick<QueryGlCodesArgs, 'only' | 'search'>,
): Code[] {
  const allowed = only && new Set(only);
  // Faster than converting each text to lower case.
  const pattern = search ? new RegExp(RegExp.escape(search), 'iu') : undefined;
  const isFound = (text: string | null) => text !== null && pattern?.test(text) !== false;
  return codes.filter(
    ({ code, name, value }) =>
      (!allowed || (code !== null && allowed.has(code))) &&
      (!pattern || isFound(code) || isFound(name) || isFound(value)),
  );
}
