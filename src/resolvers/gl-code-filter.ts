type Cut = { skip: number; first?: number | null | undefined };
type Filter = { only?: readonly string[] | null | undefined; search?: string | null | undefined };
type Item = { code: string | null; name: string | null; value: string | null };

/** The characters that are searched between two steps: about a millisecond. */
const STEP = 200_000;
/** The work on an item without its texts, in characters that could be searched in that time. */
const ITEM_WORK = 50;

/** How many items of a list `skip` and `first` leave. */
export function lengthOfPart({ length }: readonly unknown[], { skip, first }: Cut): number {
  return Math.min(first ?? length, Math.max(length - skip, 0));
}

/** The part of a list that `skip` and `first` leave. The list itself if that is all of it. */
export function cut<Code>(codes: Code[], part: Cut): Code[] {
  const length = lengthOfPart(codes, part);
  return length === codes.length ? codes : codes.slice(part.skip, part.skip + length);
}

/** Filters a list by `only` and `search` and cuts it, in steps. `totalCount` counts before the cut. */
export function* filterCodes<Code extends Item>(
  codes: readonly Code[],
  { only, search, skip, first }: Filter & Cut,
): Generator<void, { codes: Code[]; totalCount: number }> {
  const allowed = only && new Set(only);
  // Faster than converting each text to lower case.
  const pattern = search ? new RegExp(RegExp.escape(search), 'iu') : undefined;
  const overlap = search?.length ?? 0;
  const end = skip + (first ?? codes.length);
  const page: Code[] = [];
  let totalCount = 0;
  let work = 0;
  for (const item of codes) {
    const { code, name, value } = item;
    let isKept = !allowed || (code !== null && allowed.has(code));
    work += ITEM_WORK;
    if (isKept && pattern) {
      isKept = false;
      for (const text of [code, name, value]) {
        for (let at = 0; !isKept && text !== null && at < text.length; at += STEP) {
          isKept = pattern.test(text.slice(at, at + STEP + overlap));
          work += text.length;
          if (work >= STEP) yield;
          work %= STEP;
        }
      }
    }
    if (isKept && totalCount >= skip && totalCount < end) page.push(item);
    if (isKept) totalCount += 1;
    if (work >= STEP) yield;
    work %= STEP;
  }
  return { codes: page, totalCount };
}
