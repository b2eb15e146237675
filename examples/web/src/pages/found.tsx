import { foundParts } from './found-parts.ts';

type Props = {
  readonly text: string | null;
  readonly search: string;
  readonly isCode?: boolean;
};

/** A text in which the words of a search are marked. */
export function Found({ text, search, isCode = false }: Props) {
  return foundParts(text ?? '', search, isCode).map(({ text: part, isFound }, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a part has no state.
    isFound ? <mark key={index}>{part}</mark> : part,
  );
}
