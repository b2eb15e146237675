/** The name of a property of an entity. As a symbol, it is no part of what is measured and sent. */
export const twice = Symbol('twice');

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
  /** Whether the list of the entity has a code more than once. */
  readonly [twice]: (code: string) => boolean;
};

/** The fields of the key of a code. */
export type GlCodeKey = Pick<GlCodeEntity, 'target' | 'project' | 'code'>;

/** Returns a function that finds the codes that a list has more than once when it is called first. */
export function findTwice(list: readonly Pick<GlCodeEntity, 'code'>[]): (code: string) => boolean {
  let more: Set<string | null> | undefined;
  return (wanted) => {
    if (!more) {
      more = new Set();
      const once = new Set<string | null>();
      for (const { code } of list) (once.has(code) ? more : once).add(code);
    }
    return more.has(wanted);
  };
}

/** The code of an entity if it belongs to no other row of its list. Null if it is missing or empty, or if it does. */
export function ownCodeOf({ code, [twice]: isTwice }: GlCodeEntity): string | null {
  return code === null || code === '' || isTwice(code) ? null : code;
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
