type Cut = { skip: number; first?: number | null | undefined };
type Filter = { only?: readonly string[] | null | undefined; search?: string | null | undefined };
type Item = { code: string | null; name: string | null; value: string | null };

/** How many items of a list `skip` and `first` leave. */
export function lengthOfPart({ length }: readonly unknown[], { skip, first }: Cut): number {
  return Math.min(first ?? length, Math.max(length - skip, 0));
}

/** The part of a list that `skip` and `first` leave. The list itself if that is all of it. */
export function cut<Code>(codes: Code[], part: Cut): Code[] {
  const length = lengthOfPart(codes, part);
  return length === codes.length ? codes : codes.slice(part.skip, part.skip + length);
}

/** Filters a list by `only` and `search`. */
export function filterCodes<Code extends Item>(
  codes: readonly Code[],
  { only, search }: Filter,
): Code[] {
  const allowed = only && new Set(only);
  // Faster than converting each text to lower case.
  const pattern = search ? new RegExp(RegExp.escape(search), 'iu') : undefined;
  const isFound = (text: string | null) => text !== null && pattern?.test(text) !== false;
  return codes.filter(
    ({ code, name, value }) =>
      (!allowed || (code !== null && allowed.has(code))) &&
      (!pattern || isFound(code) || isFound(name) || isFound(value)),
  );
}
