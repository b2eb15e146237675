/** The name of the property with the duplicates. As a symbol, it is no part of what is measured and sent. */
export const duplicates = Symbol('duplicates');

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
  readonly [duplicates]: Duplicates;
};

/** The fields of the key of a code. */
export type GlCodeKey = Pick<GlCodeEntity, 'target' | 'project' | 'code'>;

/** The codes that a list has more than once. They are found when one is first asked for. */
export class Duplicates {
  readonly #list: readonly Pick<GlCodeEntity, 'code'>[];
  #codes: Set<string | null> | undefined;

  constructor(list: readonly Pick<GlCodeEntity, 'code'>[]) {
    this.#list = list;
  }

  has(code: string): boolean {
    this.#codes ??= duplicatesOf(this.#list);
    return this.#codes.has(code);
  }
}

function duplicatesOf(list: readonly Pick<GlCodeEntity, 'code'>[]): Set<string | null> {
  const [once, more] = [new Set<string | null>(), new Set<string | null>()];
  for (const { code } of list) (once.has(code) ? more : once).add(code);
  return more;
}

/** The code of an entity if it belongs to no other row of its list. Null if it is missing or empty, or if it does. */
export function ownCodeOf({ code, [duplicates]: others }: GlCodeEntity): string | null {
  return code === null || code === '' || others.has(code) ? null : code;
}

/** The id of a code (schema.graphql). Null if the code has no id. */
export function idOf(entity: GlCodeEntity): string | null {
  const code = ownCodeOf(entity);
  return code?.isWellFormed() ? formatId(entity, code) : null;
}

/** The id with these parts. The code must be well-formed. */
export function formatId({ target, project }: GlCodeKey, code: string): string {
  return `${target}/${encodeURIComponent(project)}/${encodeURIComponent(code)}`;
}
