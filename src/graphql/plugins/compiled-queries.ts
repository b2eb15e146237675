import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeInfo,
  type VariableDefinitionNode,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Context } from '../context.ts';
import { COMPILE_AT } from './compile-threshold.ts';

/** Compiling a longer document could take hundreds of milliseconds. */
const MAX_DOCUMENT_LENGTH = 10_000;

/** Without data, no resolver has run. */
type Compiled = (
  context: Context,
  variables: Record<string, unknown>,
) => Promise<Partial<ExecutionResult>>;

/** How often an operation was executed, and its compiled form: null if it cannot be compiled. */
type Entry = { executions: number; compiled: Compiled | null | undefined };

/** Compiles frequent queries with graphql-jit, which turns a document into one function. */
export class CompiledQueries {
  readonly #schema: GraphQLSchema;
  /** Apollo keeps parsed documents in a bounded cache; an entry disappears with its document. */
  readonly #entries = new WeakMap<DocumentNode, Map<string, Entry>>();

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** Compiles all queries of a document. */
  compileAll(document: DocumentNode): void {
    for (const definition of document.definitions) {
      if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
      if (definition.operation !== OperationTypeNode.QUERY) continue;
      const name = definition.name?.value ?? '';
      this.#entry(document, name).compiled = this.#compile(document, definition, name);
    }
  }

  /** The compiled form of a query. Null if it is not frequent yet, or cannot be compiled. */
  find(document: DocumentNode, operation: OperationDefinitionNode): Compiled | null {
    const name = operation.name?.value ?? '';
    const entry = this.#entry(document, name);
    entry.executions += 1;
    if (entry.compiled === undefined && entry.executions >= COMPILE_AT) {
      entry.compiled = this.#compile(document, operation, name);
    }
    return entry.compiled ?? null;
  }

  #entry(document: DocumentNode, name: string): Entry {
    const entries = this.#entries.get(document) ?? new Map<string, Entry>();
    const entry = entries.get(name) ?? { executions: 0, compiled: undefined };
    if (entry.executions === 0) this.#entries.set(document, entries.set(name, entry));
    return entry;
  }

  #compile(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    name: string,
  ): Compiled | null {
    if (!isCompilable(document)) return null;
    const disableLeafSerialization = !selectsEnum(this.#schema, document);
    const result = compileQuery(this.#schema, document, name, { disableLeafSerialization });
    if (!isCompiledQuery(result)) return null;
    const definitions = operation.variableDefinitions ?? [];
    return async (context, variables) => {
      const { data, errors } = await result.query(
        undefined,
        context,
        withDefaults(definitions, variables),
      );
      return {
        ...(data !== undefined && { data }),
        ...(errors && { errors: errors.map(toGraphQLError) }),
      };
    };
  }
}

/** Variables with their defaults: compiled code ignores the default of a nullable type. */
function withDefaults(
  definitions: readonly VariableDefinitionNode[],
  variables: Record<string, unknown>,
): Record<string, unknown> {
  const all = { ...variables };
  for (const { variable, defaultValue } of definitions) {
    const name = variable.name.value;
    if (defaultValue && all[name] === undefined) all[name] = valueFromASTUntyped(defaultValue);
  }
  return all;
}

/** A complete GraphQLError for an error of compiled code, which lacks parts of one. */
function toGraphQLError({ message, path, originalError, locations }: GraphQLError): GraphQLError {
  const error = new GraphQLError(message, {
    path: path ?? null,
    originalError: originalError ?? null,
    extensions: originalError instanceof GraphQLError ? originalError.extensions : null,
  });
  Object.defineProperty(error, 'locations', { value: locations, enumerable: true });
  return error;
}

/**
 * Whether compiled code gives the same result as graphql-js. It ignores conditions on merged fields, loses
 * entities after a rejected reference, and fails on names that its own code uses (docs/decisions/0010).
 */
function isCompilable(document: DocumentNode): boolean {
  let compilable = (document.loc?.end ?? 0) <= MAX_DOCUMENT_LENGTH;
  visit(document, {
    Directive: () => {
      compilable = false;
    },
    Field({ name, alias }) {
      if (name.value === '_entities' || alias?.value.startsWith('__')) compilable = false;
    },
    VariableDefinition({ variable }) {
      if (variable.name.value in Object.prototype) compilable = false;
    },
  });
  return compilable;
}

/**
 * Whether a document selects an enum, whose values differ inside and outside. All other leaves already
 * have their final form; checking each again would be a tenth of the cost of a long list.
 */
function selectsEnum(schema: GraphQLSchema, document: DocumentNode): boolean {
  const types = new TypeInfo(schema);
  let found = false;
  visit(
    document,
    visitWithTypeInfo(types, {
      Field() {
        found ||= isEnumType(getNamedType(types.getType()));
      },
    }),
  );
  return found;
}
