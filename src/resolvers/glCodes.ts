import type { QueryResolvers } from '../generated/resolvers.ts';
import { wellFormed } from './input.ts';
import { outcome } from './outcome.ts';

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, { loaders }) => {
  const query = { ...args, project: wellFormed(args.project, 'project') };
  const { codes, ...status } = await loaders.glCodes.load(query);
  return outcome(status, (base) => ({ __typename: 'GlCodeList', codes, ...base }));
};
