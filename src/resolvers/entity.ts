import { GatewayError } from '../errors/gateway-error.ts';
import type { Index, Loaders } from './loaders.ts';

/** A reference of another subgraph to an entity, which is an item of a list. */
export type Reference = {
  /** Names the list. References to the same list count once, and it is read once. */
  readonly list: string;
  /** The key of the entity in the list. Null finds nothing. */
  readonly key: string | null;
  readIndex(loaders: Loaders): Promise<Index>;
};

/** Reads the reference in a representation. Null resolves to null, and an error is reported in its place. */
export type ReadReference = (
  representation: Readonly<Record<string, unknown>>,
) => Reference | null | GatewayError;

/** The error of a reference with invalid fields, each of which has this problem. */
export function invalidReference(typename: string, fields: string[], problem: string) {
  const message = `A reference to ${typename} has invalid fields: ${fields.join(', ')}.`;
  const faults = fields.map((field) => ({ path: [field], message: `"${field}" ${problem}.` }));
  return new GatewayError('BAD_USER_INPUT', message, { faults });
}
