import type { Responses } from '../upstream/operations.ts';
import type { Loaders } from './loaders.ts';

/** A GL code with the target and project it was requested for, which are part of its key in a federated graph. */
export type GlCodeEntity = {
  __typename: 'GlCode';
  /** The integer of the target (docs/reference/service-api.md, section 2.7). */
  target: number;
  project: string;
  code: string | null;
  name: string | null;
  value: string | null;
  hide: number | null;
};

/** The fields of the key of a code. */
export type GlCodeKey = Pick<GlCodeEntity, 'target' | 'project' | 'code'>;

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
  const key = { target, project };
  const toItems = (response: Responses['getGLCodes5']) => entitiesOf(response, key);
  return list('getGLCodes5', { ...key, includeHide }, toItems, added, glCodesKey(key));
}

/**
 * The entities of a list. Requests that share the response also share the entities, which would otherwise need as much memory
 * for each request. They are in a property, because a WeakMap would delay their garbage collection.
 */
function entitiesOf(
  response: Responses['getGLCodes5'] & { entities?: GlCodeEntity[] },
  { target, project }: GlCodesKey,
): GlCodeEntity[] {
  response.entities ??= response.list.map(
    ({ Code: code = null, Name: name = null, Value: value = null, Hide: hide = null }) => {
      return { __typename: 'GlCode', target, project, code, name, value, hide };
    },
  );
  return response.entities;
}
