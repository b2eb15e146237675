import { z } from 'zod';
import type { QueryResolvers } from '../generated/resolvers.ts';
import type { Loaders } from '../graphql/loaders.ts';
import { operations } from '../upstream/declarations.ts';
import { findTwice, type GlCodeEntity, twice } from './gl-code.ts';
import { selectCodes, selectsAll } from './gl-code-selection.ts';
import { statusMember } from './status-member.ts';

const notNegative = z.number().min(0, 'is negative');

/** Checks of arguments that the schema cannot express. */
export const glCodesArgs = z.object({
  skip: notNegative,
  first: notNegative.nullish(),
});

export const glCodes: NonNullable<QueryResolvers['glCodes']> = async (_, args, context) => {
  const loaders = context.loaders();
  const { list: all, ...status } = await readGlCodes(loaders, args);
  const { skip, first } = args;
  const kept = selectsAll(args) ? all : await selectCodes(all, args, loaders);
  const isCut = skip > 0 || (first != null && first < kept.length);
  const page = () => kept.slice(skip, skip + (first ?? kept.length));
  const codes = isCut ? await loaders.derive(kept, page) : kept;
  return statusMember(status, { __typename: 'GlCodeList', codes, totalCount: kept.length });
};

/** The target and project of a list. */
type GlCodesKey = Pick<GlCodeEntity, 'target' | 'project'>;

/** Reads a list of codes (docs/reference/service-api.md, section 4.1). */
export function readGlCodes(
  { list }: Loaders,
  { target, project, includeHide }: GlCodesKey & { includeHide: boolean },
) {
  const added = Buffer.byteLength(project); // Each code of the list gets the project.
  const request = operations.getGLCodes5.encode({ target, project, includeHide });
  const toItems = (response: GlCodesResponse) => entitiesOf(response, { target, project });
  return list(request, toItems, added);
}

type GlCodesResponse = ReturnType<typeof operations.getGLCodes5.response.decode>;

/**
 * The entities of a list. Requests that share the response also share the entities, which would otherwise need as much memory
 * for each request. They are in a property, because a WeakMap would delay their garbage collection.
 */
function entitiesOf(
  response: GlCodesResponse & { entities?: GlCodeEntity[] },
  { target, project }: GlCodesKey,
): GlCodeEntity[] {
  if (response.entities) return response.entities;
  const entities: GlCodeEntity[] = [];
  const isTwice = findTwice(entities);
  const __typename = 'GlCode';
  for (const row of response.list) {
    const { Code: code = null, Name: name = null, Value: value = null, Hide: hide = null } = row;
    // A spread takes longer than all the rest.
    entities.push({ __typename, target, project, code, name, value, hide, [twice]: isTwice });
  }
  response.entities = entities;
  return entities;
}
