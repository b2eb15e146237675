import { z } from 'zod';
import type { Context } from '../context.ts';
import { GatewayError } from '../errors.ts';
import { type GlCode, IntegrationTarget, type QueryResolvers } from '../generated/resolvers.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { wellFormed } from './input.ts';
import { outcome } from './outcome.ts';

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, context, info) => {
  const { glCodes } = context.loaders();
  const query = { ...args, project: wellFormed(args.project, 'project') };
  const { codes, size, ...status } = await glCodes.load(query);
  await context.admitList(size, info);
  return outcome(status, (base) => ({ __typename: 'GlCodeList', codes, ...base }));
};

/** A reference comes as another subgraph wrote it: no scalar or enum of ours has looked at it. */
const reference = z.object({
  target: z
    .string()
    .refine((name): name is keyof typeof IntegrationTarget =>
      Object.hasOwn(IntegrationTarget, name),
    )
    .transform((name) => IntegrationTarget[name]),
  project: z.string().refine((project) => project.isWellFormed()),
  code: z.string().nullable(),
});

/**
 * The code that another subgraph refers to, hidden or not; null where the service lists none such.
 * An entity has no place for a problem, so a status other than OK is an error here.
 */
export async function resolveReference(
  representation: unknown,
  context: Context,
): Promise<GlCode | null> {
  const { glCodeIndex } = context.loaders();
  const { data, error } = reference.safeParse(representation);
  if (error) {
    const fields = error.issues.map(({ path }) => path.join('.')).join(', ');
    throw new GatewayError('BAD_USER_INPUT', `A reference to GlCode has a bad field: ${fields}.`);
  }
  const { target, project, code } = data;
  const { list, byCode } = await glCodeIndex.load({ target, project });
  const { __typename } = outcome(list, () => ({ __typename: 'GlCodeList' }) as const);
  switch (__typename) {
    case 'GlCodeList':
      return code === null ? null : (byCode.get(code) ?? null);
    case 'LedgerNotPermitted':
      throw new UpstreamError('FORBIDDEN', { effect: 'none', fault: __typename });
    case 'LedgerUnrecognizedStatus':
      throw new UpstreamError('UPSTREAM_INVALID_RESPONSE', { effect: 'none', fault: __typename });
    default:
      throw new UpstreamError('UPSTREAM_FAILED', { effect: 'none', fault: __typename });
  }
}
