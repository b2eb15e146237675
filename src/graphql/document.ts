import { type DocumentNode, type ExecutionResult, GraphQLError, Kind, Source } from 'graphql';
import type { Context } from '../resolvers/context.ts';

/** Fields that reveal the schema. */
export const introspectionFields = ['__schema', '__type', '_service'];

/** For each place that an error names, graphql-js counts the lines before it. Here is only one. */
export const oneLine = new Source('');

export type Variables = Record<string, unknown>;

/** Without data, no resolver has run. */
export type Compiled = (
  context: Context,
  variables: Variables,
) => Promise<Partial<ExecutionResult>>;

/** How often an operation was executed, and its compiled form: null if it cannot be compiled. */
export type Plan = { executions: number; compiled: Compiled | null | undefined };

const noDefinitions: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };

/** A fault of an invalid document, with the places that it names. */
export type DocumentFault = {
  code: string;
  message: string;
  positions: readonly number[] | undefined;
};

/** A document that is within the limits: everything that is known about its text. */
export class GraphqlDocument {
  readonly text: string;
  /** Empty if the document is invalid. */
  ast = noDefinitions;
  /** What is wrong with an invalid document. */
  faults: readonly DocumentFault[] = [];
  /** Whether a double has the value of each number in the document. Undefined before it is executed. */
  isExact: boolean | undefined;
  /** The names of the variables in `@include` and `@skip`. Undefined before a query is executed. */
  conditions: string[] | undefined;
  /** How its queries are executed: by operation, and by the values of the variables in `@include` and `@skip`. */
  readonly plans = new Map<string, Plan>();
  /** Where its lines start. Undefined before an error names a place. */
  lineStarts: number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Errors for the faults: new ones, because an error keeps what its stack refers to. */
  get errors(): GraphQLError[] {
    return this.faults.map(({ code, message, positions }) => {
      const places = positions && { source: oneLine, positions };
      const extensions = { code, http: { status: 400 } };
      return new GraphQLError(message, { ...places, extensions });
    });
  }
}
