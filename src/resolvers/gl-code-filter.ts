type Filter = { only?: readonly string[] | null | undefined; search?: string | null | undefined };
type Item = { code: string | null; name: string | null; value: string | null };

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
