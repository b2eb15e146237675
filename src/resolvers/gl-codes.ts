import { z } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import { type GlCode, IntegrationTarget, type QueryResolvers } from '../generated/resolvers.ts';
import type { Context } from '../graphql/context.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import { cut, filterCodes } from './gl-code-filter.ts';
import { checkGlCodesArgs, textLimits } from './input.ts';
import { outcome } from './outcome.ts';

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, context, info) => {
  const loaders = context.loaders(); // Throws first if the token is missing.
  const limits = context.limits();
  checkGlCodesArgs(args);
  limits.admitLookup(`${args.target} ${args.project}`);
  const { codes: all, bytes, ...status } = await loaders.glCodes.load(args);
  const { codes, totalCount } =
    args.only || args.search
      ? await limits.search(bytes, filterCodes(all, args))
      : { codes: cut(all, args), totalCount: all.length };
  await limits.admitList(codes, codes === all ? bytes : undefined, info);
  return outcome(status, (fields) => ({
    __typename: 'GlCodeList',
    codes,
    totalCount,
    ...fields,
  }));
};

/** A reference comes from another subgraph: no scalar or enum of this schema has checked it. */
const reference = z.object({
  target: z
    .string()
    .refine((name): name is keyof typeof IntegrationTarget =>
      Object.hasOwn(IntegrationTarget, name),
    )
    .transform((name) => IntegrationTarget[name]),
  project: z
    .string()
    .max(textLimits.project)
    .refine((project) => project.isWellFormed()),
  code: z.string().max(textLimits.code).nullable(),
});

/**
 * The code that another subgraph refers to, hidden or not; null if the service does not list it. An
 * entity cannot be a problem type, so a status other than OK is an error.
 */
export async function resolveReference(
  representation: unknown,
  context: Context,
): Promise<GlCode | null> {
  const { data, error } = reference.safeParse(representation);
  if (error) {
    const fields = [...new Set(error.issues.map(({ path }) => path.join('.')))];
    const message = `A reference to GlCode has invalid fields: ${fields.join(', ')}.`;
    const faults = fields.map((field) => ({ path: [field], message: `"${field}" is invalid.` }));
    throw new GatewayError('BAD_USER_INPUT', message, { faults });
  }
  const { target, project, code } = data;
  const { glCodes, byCode } = await context.loaders().glCodeIndex.load({ target, project });
  const { __typename } = outcome(glCodes, () => ({ __typename: 'GlCodeList' }) as const);
  switch (__typename) {
    case 'GlCodeList':
      return code === null ? null : (byCode.get(code) ?? null);
    case 'LedgerNotPermitted':
      throw new UpstreamError('FORBIDDEN', { sent: 'yes', fault: __typename });
    case 'LedgerUnrecognizedStatus':
      throw new UpstreamError('UPSTREAM_INVALID_RESPONSE', { sent: 'yes', fault: __typename });
    default:
      throw new UpstreamError('UPSTREAM_FAILED', { sent: 'yes', fault: __typename });
  }
}
