import type { Turn } from '../account/turns.ts';

/** The characters that are serialized in one turn, about: one to five milliseconds. */
const PORTION = 200_000;

/**
 * Serializes a result of about so many bytes, in turns. As one text, a long one would block the event loop, and with a
 * single character that is not Latin-1, all of it would take twice the memory.
 */
export async function serialize(result: object, bytes: number, turn: Turn): Promise<Buffer> {
  const parts: Buffer[] = [];
  let text = '';
  await turn(PORTION);
  for (const piece of piecesOf(result, bytes)) {
    text += piece;
    if (text.length < PORTION) continue;
    parts.push(Buffer.from(text));
    await turn(text.length);
    text = '';
  }
  return Buffer.concat([...parts, Buffer.from(text)]);
}

/** The JSON of a value that is part of a result of so many bytes. A list has its share of pieces, by its items. */
function* piecesOf(value: unknown, bytes: number): Generator<string> {
  if (Array.isArray(value)) {
    const count = Math.max(1, Math.floor((value.length * PORTION) / bytes));
    for (let at = 0; at < value.length; at += count) {
      yield at === 0 ? '[' : ',';
      if (count === 1) yield* piecesOf(value[at], bytes);
      else yield JSON.stringify(value.slice(at, at + count)).slice(1, -1);
    }
    yield value.length === 0 ? '[]' : ']';
  } else if (typeof value === 'object' && value !== null) {
    let separator = '{';
    for (const [name, item] of Object.entries(value)) {
      if (item === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* piecesOf(item, bytes);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
  } else {
    yield JSON.stringify(value);
  }
}
