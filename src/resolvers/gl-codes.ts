import type { QueryResolvers } from '../generated/resolvers.ts';
import { cut, filterCodes, lengthOfPart } from './gl-code-filter.ts';
import { checkGlCodesArgs } from './input.ts';
import { outcome } from './outcome.ts';

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, context) => {
  const loaders = context.loaders(); // Throws first if the token is missing.
  const limits = context.limits();
  checkGlCodesArgs(args);
  limits.admitLookup(`${args.target} ${args.project}`);
  const { codes: all, bytes, ...status } = await loaders.glCodes.load(args);
  const isFiltered = Boolean(args.only || args.search);
  const length = lengthOfPart(all, args);
  if (isFiltered || length < all.length) await limits.holdCopy(length);
  const { codes, totalCount } = isFiltered
    ? await limits.search(bytes, filterCodes(all, args))
    : { codes: cut(all, args), totalCount: all.length };
  return outcome(status, (fields) => ({
    __typename: 'GlCodeList',
    codes,
    totalCount,
    ...fields,
  }));
};
