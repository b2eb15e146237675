import { foundParts } from './found-parts.ts';

type Props = {
  readonly text: string | null;
  readonly search: string;
  /** What a code begins with. Undefined for other texts. */
  readonly prefix?: string;
};

/** A text in which the words of a search are marked, and the prefix of a code. */
export function Found({ text, search, prefix }: Props) {
  return foundParts(text ?? '', search, prefix).map(({ text: part, isFound }, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a part has no state.
    isFound ? <mark key={index}>{part}</mark> : part,
  );
}
