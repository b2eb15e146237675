import type { QueryResolvers } from '../generated/resolvers.ts';
import { cut, filterCodes, lengthOfPart } from './gl-code-filter.ts';
import { checkGlCodesArgs } from './input.ts';
import { outcome } from './outcome.ts';

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, context, info) => {
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
  // Each of the codes has the project.
  const wholeBytes = bytes + all.length * Buffer.byteLength(args.project);
  await limits.admitList(codes, { length: all.length, bytes: wholeBytes, status }, info);
  return outcome(status, (fields) => ({
    __typename: 'GlCodeList',
    codes,
    totalCount,
    ...fields,
  }));
};
