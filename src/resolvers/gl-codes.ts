import { z } from 'zod';
import type { QueryGlCodesArgs, QueryResolvers } from '../generated/resolvers.ts';
import type { Loaders } from '../graphql/loaders.ts';
import { type Searchable, searchItems } from '../lib/search-text.ts';
import { operations } from '../upstream/declarations.ts';
import type { GlCodeEntity } from './gl-code.ts';
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
  const isFiltered = Boolean(args.only || args.search);
  const kept = isFiltered ? await filterCodes(all, args, loaders) : all;
  const isCut = skip > 0 || (first != null && first < kept.length);
  const page = () => kept.slice(skip, skip + (first ?? kept.length));
  const codes = isCut ? await loaders.derive(kept, page) : kept;
  return statusMember(status, { __typename: 'GlCodeList', codes, totalCount: kept.length });
};

/** The target and project of a list. */
type GlCodesKey = Pick<GlCodeEntity, 'target' | 'project'>;

/** The target and project of a list as a text. Lists with the same text count as one. */
export function glCodesKey({ target, project }: GlCodesKey): string {
  return `${target} ${project}`;
}

/** Reads a list of codes (docs/reference/service-api.md, section 4.1). */
export function readGlCodes(
  { list }: Loaders,
  { target, project, includeHide }: GlCodesKey & { includeHide: boolean },
) {
  const added = Buffer.byteLength(project); // Each code of the list gets the project.
  const request = operations.getGLCodes5.encode({ parameters: { target, project, includeHide } });
  const toItems = (response: GlCodesResponse) => entitiesOf(response, { target, project });
  return list(request, toItems, added, glCodesKey({ target, project }));
}

type GlCodesResponse = ReturnType<typeof operations.getGLCodes5.decode>;

/**
 * The entities of a list. Requests that share the response also share the entities, which would otherwise need as much memory
 * for each request. They are in a property, because a WeakMap would delay their garbage collection.
 */
function entitiesOf(
  response: GlCodesResponse & { entities?: GlCodeEntity[] },
  { target, project }: GlCodesKey,
): GlCodeEntity[] {
  response.entities ??= response.list.map(
    ({ Code: code = null, Name: name = null, Value: value = null, Hide: hide = null }) => {
      return { __typename: 'GlCode', target, project, code, name, value, hide };
    },
  );
  return response.entities;
}

/** Filters a list by `only` and `search`. */
export async function filterCodes<Code extends Texts>(
  codes: Searchable<Code>,
  { only, search }: Pick<QueryGlCodesArgs, 'only' | 'search'>,
  loaders: Pick<Loaders, 'searchText' | 'derive'>,
): Promise<Code[]> {
  const text = search ? await loaders.searchText(codes, textsOf) : undefined;
  const set = only && new Set(only);
  return loaders.derive(codes, () => {
    const found = text && search ? searchItems(codes, text, search) : codes;
    return found.filter(({ code }) => !set || (code !== null && set.has(code)));
  });
}

type Texts = Pick<GlCodeEntity, 'code' | 'name' | 'value'>;

/** The texts of a code that are searched. */
const textsOf = ({ code, name, value }: Texts) => [code, name, value];
