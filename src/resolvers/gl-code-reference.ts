import { z } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import { IntegrationTarget } from '../generated/resolvers.ts';
import { exactText, textLimits, textOf } from './input.ts';
import type { GlCodeEntity } from './loaders.ts';

/** The fields of the key of a code. */
export type GlCodeKey = Pick<GlCodeEntity, 'target' | 'project' | 'code'>;

/** The id of a code (schema.graphql). Null for a code that has none. */
export function idOf({ target, project, code }: GlCodeKey): string | null {
  if (code === null || !code.isWellFormed()) return null;
  return `${target}/${encodeURIComponent(project)}/${encodeURIComponent(code)}`;
}

/** By their names. */
const targets = new Map<unknown, IntegrationTarget>(Object.entries(IntegrationTarget));

/** A reference comes from another subgraph: no scalar or enum of this schema has checked it. */
const keySchema = z.object({
  target: z.enum(IntegrationTarget),
  project: exactText(textLimits.project),
  code: textOf(textLimits.code).nullable(),
});

/** The key in an id. Undefined for any text that `idOf` does not make. */
function keyOf(id: string): GlCodeKey | undefined {
  const [target, ...encoded] = id.split('/', 4);
  try {
    const [project, code] = encoded.map(decodeURIComponent);
    const { data } = keySchema.safeParse({ target: Number(target), project, code });
    return data && idOf(data) === id ? data : undefined;
  } catch {
    return undefined; // A part is not percent-encoded.
  }
}

/** Reads a reference by id, or by the fields of the other key. Null if its id is null. */
export function readReference(representation: unknown): GlCodeKey | null | GatewayError {
  const { __typename, id, target, project, code }: Record<string, unknown> = Object(representation);
  if (__typename !== 'GlCode') return invalid(['__typename'], 'is not an entity of this subgraph');
  if (id === null && target === undefined) return null;
  if (id != null) {
    const key = typeof id === 'string' ? keyOf(id) : undefined;
    return key ?? invalid(['id'], 'is not the id of a GlCode, such as 5/north-plant/4010');
  }
  const { data, error } = keySchema.safeParse({ target: targets.get(target), project, code });
  const fields = error?.issues.map(({ path }) => path.join('.'));
  return data ?? invalid([...new Set(fields)], 'is invalid');
}

function invalid(fields: string[], problem: string): GatewayError {
  const message = `A reference to GlCode has invalid fields: ${fields.join(', ')}.`;
  const faults = fields.map((field) => ({ path: [field], message: `"${field}" ${problem}.` }));
  return new GatewayError('BAD_USER_INPUT', message, { faults });
}
