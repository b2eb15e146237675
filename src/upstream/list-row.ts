import type { Static, TObject } from 'typebox';
import { numberText } from '../lib/json.ts';
import { ContractFault, guardOf, readerOf, type WireType } from './wire-types.ts';

/**
 * Creates a function that reads the row at an index of a list. Throws a ContractFault if the row is not as declared, or has none
 * of the declared fields: then they have other names than documented.
 *
 * Types that are as certain as the declared ones are accepted, too: a number for a text, which is its digits as the service
 * writes them, and the text of an integer for an integer. `exactRow` returns the same row with exact numbers.
 */
export function rowReaderOf<Row extends TObject>(type: Row) {
  const fields = Object.entries<WireType>(type.properties);
  const names = fields.map(([name]) => name);
  const isDeclared = guardOf(type);
  const read = readerOf(type);
  const readDeclared = (value: unknown, index: number, exactRow: () => unknown) => {
    const row = isDeclared(value) ? value : read(converted(value, exactRow, fields), 'list', index);
    if (names.some((name) => name in Object(value))) return row;
    const fault = `list[${index}]: expected ${names.join(', ')}, got none of them`;
    throw new ContractFault(fault, `has no ${names[0]?.toLowerCase()}`);
  };
  return (value: unknown, index: number, exactRow: () => unknown): Static<Row> => {
    try {
      return readDeclared(value, index, exactRow);
    } catch (error) {
      if (!(error instanceof ContractFault)) throw error;
      const problem = error.shown ?? 'cannot be read';
      const shown = `The list of the service is invalid: row ${index + 1} ${problem}.`;
      throw new ContractFault(error.message, shown);
    }
  };
}

/** A row with its values as the declared types, if they are certain. */
function converted(
  row: unknown,
  exactRow: () => unknown,
  fields: readonly (readonly [name: string, WireType])[],
): unknown {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return row;
  const entries = fields.map(([name, { type }]) => {
    const value: unknown = Reflect.get(row, name);
    if ([type].flat().includes('string')) {
      const isNumber = numberText(value) !== undefined;
      return [name, isNumber ? numberText(Reflect.get(Object(exactRow()), name)) : value];
    }
    const isInteger = typeof value === 'string' && /^-?\d{1,10}$/.test(value);
    return [name, isInteger ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}
