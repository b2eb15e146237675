import { hash } from 'node:crypto';
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Variables } from './selection-cost.ts';

/** The compiled form of an operation. If the result has no data, no resolver has run. */
export type Compiled = (
  context: object,
  variables: Variables,
) => Partial<ExecutionResult> | Promise<Partial<ExecutionResult>>;

/** How often an operation was executed, and its compiled form: null if it cannot be compiled. */
export type Plan = { executions: number; compiled: Compiled | null | undefined };

/** The name of a document by its text: SHA-256 in hexadecimal digits, as clients and Apollo Server compute it. */
export function hashOf(text: string): string {
  return hash('sha256', text, 'hex');
}

/** A document within the limits, with everything that is known about it. */
export class GraphqlDocument {
  readonly text: string;
  /** The schema that it is executed with. */
  readonly schema: GraphQLSchema;
  /** Empty if the document is invalid. */
  ast: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };
  /** The faults of an invalid document. These are no Error objects, which would keep in memory what their stacks refer to. */
  faults: readonly GraphQLFormattedError[] = [];
  /** Whether doubles can represent all numbers in the document exactly. Undefined before it is executed. */
  isExact: boolean | undefined;
  /** The names of the variables in `@include` and `@skip`. Undefined before a query is executed. */
  conditions: ReadonlySet<string> | undefined;
  /** The plan of each operation, for each combination of values of the variables in `@include` and `@skip`. */
  readonly plans = new LRUCache<string, Plan>({
    max: 8,
    memoMethod: () => ({ executions: 0, compiled: undefined }),
  });

  constructor(text: string, schema: GraphQLSchema) {
    this.text = text;
    this.schema = schema;
  }
}
