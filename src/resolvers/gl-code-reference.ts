import { z } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import { IntegrationTarget } from '../generated/resolvers.ts';
import { UpstreamError, type UpstreamErrorCode } from '../upstream/upstream-error.ts';
import type { Context } from './context.ts';
import { textLimits } from './input.ts';
import type { GlCodeEntity } from './loaders.ts';
import { outcome } from './outcome.ts';

type Key = Pick<GlCodeEntity, 'target' | 'project' | 'code'>;

/** The id of a code (schema.graphql). Null for a code that has none. */
export function idOf({ target, project, code }: Key): string | null {
  if (code === null || !code.isWellFormed()) return null;
  return `${target}/${encodeURIComponent(project)}/${encodeURIComponent(code)}`;
}

/** A reference comes from another subgraph: no scalar or enum of this schema has checked it. */
const keySchema = z.object({
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

const targets = new Map(Object.values(IntegrationTarget).map((value) => [String(value), value]));

/** The longest id, in characters: one of its parts may become nine, as of the euro sign. */
const MAX_ID_LENGTH = 9 * (textLimits.project + textLimits.code) + '4001//'.length;

/** The key in an id. Undefined for any text that `idOf` does not make. */
function keyOf(id: string): Key | undefined {
  if (id.length > MAX_ID_LENGTH) return undefined;
  const [integer = '', ...encoded] = id.split('/');
  const target = targets.get(integer);
  try {
    const [project = '', code = ''] = encoded.map(decodeURIComponent);
    const isShort = project.length <= textLimits.project && code.length <= textLimits.code;
    if (target === undefined || !isShort) return undefined;
    const key = { target, project, code };
    return idOf(key) === id ? key : undefined;
  } catch {
    return undefined; // A part is not percent-encoded.
  }
}

/** The key in a reference, which is null if its id is null, or the fields that are invalid, and why. */
type Reference = { key: Key | null } | InvalidReference;
type InvalidReference = { invalid: string[]; problem: string };

/** Reads a reference by id, or by the fields of the other key. */
export function readReference(representation: unknown): Reference {
  const { id, target }: { id?: unknown; target?: unknown } = Object(representation);
  if (id === null && target === undefined) return { key: null };
  if (id != null) {
    const key = typeof id === 'string' ? keyOf(id) : undefined;
    const problem = 'is not the id of a GlCode, such as 5/north-plant/4010';
    return key ? { key } : { invalid: ['id'], problem };
  }
  const { data, error } = keySchema.safeParse(representation);
  if (data) return { key: data };
  const fields = new Set(error.issues.map(({ path }) => path.join('.')));
  return { invalid: [...fields], problem: 'is invalid' };
}

export function invalidReference({ invalid, problem }: InvalidReference): GatewayError {
  const message = `A reference to GlCode has invalid fields: ${invalid.join(', ')}.`;
  const faults = invalid.map((field) => ({ path: [field], message: `"${field}" ${problem}.` }));
  return new GatewayError('BAD_USER_INPUT', message, { faults });
}

/** The error for a status other than OK. For those that are not here, it is `UPSTREAM_FAILED`. */
const errorCodes: Partial<Record<string, UpstreamErrorCode>> = {
  LedgerNotPermitted: 'FORBIDDEN',
  LedgerUnrecognizedStatus: 'UPSTREAM_INVALID_RESPONSE',
};

/**
 * The code that another subgraph refers to, hidden or not; null if the service does not list it. An
 * entity cannot be a problem type, so a status other than OK is an error.
 */
export async function resolveReference(
  representation: unknown,
  context: Context,
): Promise<GlCodeEntity | null> {
  const reference = readReference(representation);
  if ('invalid' in reference) throw invalidReference(reference);
  const { key } = reference;
  if (key === null) return null;
  const { glCodes, byCode } = await context.loaders().glCodeIndex.load(key);
  const { __typename } = outcome(glCodes, () => ({ __typename: 'GlCodeList' }) as const);
  if (__typename === 'GlCodeList') return key.code === null ? null : (byCode.get(key.code) ?? null);
  throw new UpstreamError(errorCodes[__typename] ?? 'UPSTREAM_FAILED', { fault: __typename });
}
