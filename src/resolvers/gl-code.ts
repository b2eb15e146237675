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

/** The id of a code (schema.graphql). Null if the code has no id. */
export function idOf({ target, project, code }: GlCodeKey): string | null {
  if (code === null || !code.isWellFormed()) return null;
  return `${target}/${encodeURIComponent(project)}/${encodeURIComponent(code)}`;
}
