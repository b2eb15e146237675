import type { z } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Index, Loaders } from './loaders.ts';

/** A reference of another subgraph to an entity, which is an item of a list. */
export type Reference = {
  /** The name of the list. References to the same list count once, and the list is read once. */
  readonly list: string;
  /** The key of the entity in the list. With null, no entity is found. */
  readonly key: string | null;
  readIndex(loaders: Loaders): Promise<Index>;
};

/** Reads the reference in a representation. If it returns null, the entity is null. If it returns an error, that is reported. */
export type ReadReference = (
  representation: Readonly<Record<string, unknown>>,
) => Reference | null | GatewayError;

/** The error for a reference whose fields at `path` have a problem. */
export function invalidReference(typename: string, fields: string[], problem: string) {
  const message = `A reference to ${typename} has invalid fields: ${fields.join(', ')}.`;
  const faults = fields.map((field) => ({ path: [field], message: `"${field}" ${problem}.` }));
  return new GatewayError('BAD_USER_INPUT', message, { faults });
}

/** The error for a reference whose fields do not match the schema of its key. */
export function invalidKey(typename: string, { issues }: z.ZodError) {
  const fields = new Set(issues.map(({ path }) => path.join('.')));
  return invalidReference(typename, [...fields], 'is invalid');
}
