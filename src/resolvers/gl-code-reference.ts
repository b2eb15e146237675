import { z } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import { IntegrationTarget } from '../generated/resolvers.ts';
import { textLimits } from './input.ts';
import type { GlCodeEntity } from './loaders.ts';

/** The fields of the key of a code. */
export type GlCodeKey = Pick<GlCodeEntity, 'target' | 'project' | 'code'>;

/** The id of a code (schema.graphql). Null for a code that has none. */
export function idOf({ target, project, code }: GlCodeKey): string | null {
  if (code === null || !code.isWellFormed()) return null;
  return `${target}/${encodeURIComponent(project)}/${encodeURIComponent(code)}`;
}

const targets = new Map(Object.entries(IntegrationTarget));
const targetNames = new Map([...targets].map(([name, value]) => [String(value), name]));

/** A reference comes from another subgraph: no scalar or enum of this schema has checked it. */
const keySchema = z.object({
  target: z
    .string()
    .transform((name) => targets.get(name))
    .refine((target) => target !== undefined),
  project: z
    .string()
    .max(textLimits.project)
    .refine((project) => project.isWellFormed()),
  code: z.string().max(textLimits.code).nullable(),
});

/** No longer parts are read: a character of a part may become nine, as the euro sign does. */
const idPattern = new RegExp(
  `^(-?\\d+)/([^/]{0,${9 * textLimits.project}})/([^/]{0,${9 * textLimits.code}})$`,
);

/** The key in an id. Undefined for any text that `idOf` does not make. */
function keyOf(id: string): GlCodeKey | undefined {
  const [, integer = '', ...encoded] = idPattern.exec(id) ?? [];
  const target = targetNames.get(integer);
  try {
    const [project, code] = encoded.map(decodeURIComponent);
    const { data } = keySchema.safeParse({ target, project, code });
    return data && idOf(data) === id ? data : undefined;
  } catch {
    return undefined; // A part is not percent-encoded.
  }
}

/** Reads a reference by id, or by the fields of the other key. Null if its id is null. */
export function readReference(representation: unknown): GlCodeKey | null | GatewayError {
  const { __typename, id, target }: Record<string, unknown> = Object(representation);
  if (__typename !== 'GlCode') return invalid(['__typename'], 'is not an entity of this subgraph');
  if (id === null && target === undefined) return null;
  if (id != null) {
    const key = typeof id === 'string' ? keyOf(id) : undefined;
    return key ?? invalid(['id'], 'is not the id of a GlCode, such as 5/north-plant/4010');
  }
  const { data, error } = keySchema.safeParse(representation);
  const fields = error?.issues.map(({ path }) => path.join('.'));
  return data ?? invalid([...new Set(fields)], 'is invalid');
}

function invalid(fields: string[], problem: string): GatewayError {
  const message = `A reference to GlCode has invalid fields: ${fields.join(', ')}.`;
  const faults = fields.map((field) => ({ path: [field], message: `"${field}" ${problem}.` }));
  return new GatewayError('BAD_USER_INPUT', message, { faults });
}
