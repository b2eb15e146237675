import { z } from 'zod';
import { IntegrationTarget } from '../generated/resolvers.ts';
import {
  type Index,
  invalidKey,
  invalidReference,
  type ReadReference,
  type Reference,
} from '../graphql/entities.ts';
import { formatId, type GlCodeEntity, type GlCodeKey, ownCodeOf } from './gl-code.ts';
import { readGlCodes } from './gl-codes.ts';
import { expectOk } from './status-member.ts';

/** The targets by their names in the schema. */
const targets = new Map<unknown, IntegrationTarget>(Object.entries(IntegrationTarget));

/** The fields of a reference. They come from another subgraph, so no scalar or enum of this schema has checked them. */
const keySchema = z.object({
  target: z.enum(IntegrationTarget),
  // A lone surrogate would become another character in the URL.
  project: z.string().refine((text) => text.length <= 1024 && text.isWellFormed()),
  code: z
    .string()
    .refine(({ length }) => length <= 256)
    .nullable(),
});

/** The key in an id. Undefined for a text that is none. */
function keyOf(id: string): GlCodeKey | undefined {
  const [target, ...encoded] = id.split('/', 4);
  try {
    const [project, code] = encoded.map(decodeURIComponent);
    const { data } = keySchema.safeParse({ target: Number(target), project, code });
    return data?.code != null && formatId(data, data.code) === id ? data : undefined;
  } catch {
    return undefined; // A part is not percent-encoded.
  }
}

/** Reads a reference by id, or by the fields of the other key. Null if its id is null. */
export const readGlCodeReference: ReadReference = ({ id, target, project, code }) => {
  if (id === null && target === undefined) return null;
  if (id != null) {
    const key = typeof id === 'string' ? keyOf(id) : undefined;
    const problem = 'is not the id of a GlCode, such as 5/north-plant/4010';
    return key ? referenceTo(key) : invalidReference('GlCode', ['id'], problem);
  }
  const { data, error } = keySchema.safeParse({ target: targets.get(target), project, code });
  return data ? referenceTo(data) : invalidKey('GlCode', error);
};

/** A reference to a code. Hidden codes are found as well. */
function referenceTo(key: GlCodeKey): Reference {
  return {
    list: `${key.target} ${key.project}`,
    key: key.code,
    async readIndex(loaders) {
      const { list, ...status } = await readGlCodes(loaders, { ...key, includeHide: true });
      expectOk(status);
      return loaders.once(list, indexOf);
    },
  };
}

async function indexOf(
  list: readonly GlCodeEntity[],
  turn: () => Promise<void> | undefined,
): Promise<Index> {
  await turn();
  const index = new Map<string, GlCodeEntity>();
  for (const entity of list) {
    const code = ownCodeOf(entity);
    if (code !== null) index.set(code, entity);
  }
  return index;
}
