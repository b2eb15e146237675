import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
} from 'graphql';
import { LRUCache } from 'lru-cache';

/** The values of the variables of an operation. */
export type Variables = Record<string, unknown>;

/** The compiled form of an operation. If the result has no data, no resolver has run. */
export type Compiled = (
  context: object,
  variables: Variables,
) => Partial<ExecutionResult> | Promise<Partial<ExecutionResult>>;

/** How often an operation was executed, and its compiled form: null if it cannot be compiled. */
export type Plan = { executions: number; compiled: Compiled | null | undefined };

/** A document within the limits, with everything that is known about it. */
export class GraphqlDocument {
  readonly text: string;
  /** The hash of the text. */
  readonly hash: string;
  /** The schema that it is executed with. */
  readonly schema: GraphQLSchema;
  /** Empty if the document is invalid. */
  ast: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };
  /** The faults of an invalid document. These are no Error objects, which would keep in memory what their stacks refer to. */
  faults: readonly GraphQLFormattedError[] = [];
  /** The plan of each operation, for each combination of those of its variables that are true. */
  readonly plans = new LRUCache<string, Plan>({
    max: 8,
    memoMethod: () => ({ executions: 0, compiled: undefined }),
  });

  constructor(text: string, hash: string, schema: GraphQLSchema) {
    this.text = text;
    this.hash = hash;
    this.schema = schema;
  }
}
