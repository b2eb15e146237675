import type {
  ApolloServerPlugin,
  GraphQLRequest,
  GraphQLRequestListener,
  HTTPGraphQLHead,
} from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import {
  coerceInputValue,
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputType,
  isNonNullType,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeInfo,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Context } from './context.ts';
import { currentRequest, GatewayError } from './errors.ts';
import { nextTurn } from './turns.ts';

/** A query is compiled when it is seen this many times: most that come only once never are. */
const COMPILE_AT = 3;
/** A longer document is not: compiling it could take hundreds of milliseconds. */
const MAX_COMPILED_CHARACTERS = 10_000;

/** Lists of more entries than this are long. */
const LONG_LIST = 5_000;

type Result = {
  data?: ExecutionResult['data'];
  errors?: readonly GraphQLError[] | undefined;
};

/** What is known of an operation of a document: how often it came, or its compiled form. */
type Seen = { times: number; compiled: CompiledQuery | null | undefined };

/**
 * Executes operations, as a plugin of Apollo: queries that come again by graphql-jit, which makes one
 * function of a document and the schema; everything else by graphql-js. The answers are equal; for large
 * lists the compiled ones cost a third. A mutation is never compiled: it has few fields, and its order of
 * execution is the promise of this gateway.
 *
 * `compileAt` is for tests: 1 compiles all queries at once, Infinity none.
 */
export function createExecutor(
  schema: GraphQLSchema,
  formatError: (formatted: GraphQLFormattedError, error: unknown) => GraphQLFormattedError,
  compileAt = COMPILE_AT,
): ApolloServerPlugin<Context> {
  // Apollo keeps parsed documents in a bounded store; what is known of one goes when it goes.
  const known = new WeakMap<DocumentNode, Map<string, Seen>>();

  function compiledOf(document: DocumentNode, operationName: string): CompiledQuery | null {
    const operations = known.get(document) ?? new Map<string, Seen>();
    const seen = operations.get(operationName) ?? { times: 0, compiled: undefined };
    if (seen.times === 0) known.set(document, operations.set(operationName, seen));
    seen.times += 1;
    if (seen.compiled === undefined && seen.times >= compileAt) {
      seen.compiled = isSound(document) ? compile(schema, document, operationName) : null;
    }
    return seen.compiled ?? null;
  }

  /** The result of an operation. Without data it stopped before any resolver ran. */
  async function run(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    request: GraphQLRequest,
    contextValue: Context,
  ): Promise<Result> {
    // Whoever has no token must not keep the compiler busy.
    const mayCompile =
      operation.operation === OperationTypeNode.QUERY && contextValue.isAuthenticated;
    const compiled = mayCompile && compiledOf(document, operation.name?.value ?? '');
    if (compiled) {
      const variables = withDefaults(operation.variableDefinitions ?? [], request.variables ?? {});
      const { data, errors } = await compiled.query(undefined, contextValue, variables);
      if (data !== undefined) return { data, errors: errors?.map(asGraphQLError) };
    }
    const { variables: variableValues, operationName } = request;
    return execute({ schema, document, contextValue, variableValues, operationName });
  }

  /** Does to an error what Apollo does: formats it, and gives the answer the head that it asks for. */
  function leave(error: GraphQLError, head: HTTPGraphQLHead): GraphQLFormattedError {
    const cause = unwrapResolverError(error);
    if (cause instanceof GatewayError && cause.http) {
      head.status = cause.http.status;
      for (const [name, value] of cause.http.headers) head.headers.set(name, value);
    }
    return formatError(error.toJSON(), error);
  }

  const listener: GraphQLRequestListener<Context> = {
    async didResolveOperation({ operation, request }) {
      if (!operation) return; // Apollo words its errors.
      const record = currentRequest.getStore();
      // A caller may choose any name, of any length.
      if (record) record.operation = (operation.name?.value ?? operation.operation).slice(0, 100);
      if (operation.operation === OperationTypeNode.SUBSCRIPTION) throw noSubscriptions();
      checkVariableTypes(schema, operation.variableDefinitions ?? [], request.variables ?? {});
    },

    async responseForOperation({ document, operation, request, contextValue, response: { http } }) {
      if (!operation) return null;
      const { data, errors } = await run(document, operation, request, contextValue);
      if (data === undefined) {
        // Apollo words these errors, too. It executes anew for that, which a mutation never is.
        if (operation.operation !== OperationTypeNode.MUTATION) return null;
        throw errors?.[0] ?? new Error('A mutation ended without data.');
      }
      // Writing a long list as JSON takes a while, too: others have their turn before it.
      if (holdsLongList(data)) await nextTurn();
      const singleResult = errors ? { data, errors: errors.map((e) => leave(e, http)) } : { data };
      return { http, body: { kind: 'single', singleResult } };
    },
  };
  return { requestDidStart: async () => listener };
}

/** Whether the lists of the root fields take tens of milliseconds to be written as JSON. */
function holdsLongList(data: unknown): boolean {
  let length = 0;
  for (const root of Object.values(data ?? {})) {
    for (const list of Object.values(root ?? {})) {
      if (Array.isArray(list)) length += list.length;
    }
  }
  return length > LONG_LIST;
}

/**
 * Throws at the first variable that does not fit its type. graphql-js would repeat what was sent, whole
 * and up to fifty times, and suggest names of the schema; this tells the place and the reason.
 */
function checkVariableTypes(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Record<string, unknown>,
): void {
  for (const node of definitions) {
    const name = node.variable.name.value;
    const type = typeFromAST(schema, node.type);
    if (!isInputType(type)) continue; // Validation refused it.
    const refuse = (reason: string) =>
      new GraphQLError(`Variable "$${name}" ${reason}`, {
        nodes: node,
        extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
      });
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value === undefined) {
      if (isNonNullType(type) && !node.defaultValue) throw refuse('is required.');
      continue;
    }
    coerceInputValue(value, type, (path, _, { message }) => {
      const [reason = ''] = message.split(' Did you mean ');
      throw refuse(`is invalid${at(path)}: ${reason.slice(0, 200)}`);
    });
  }
}

/** Where in a variable, such as ` at [0].name`. */
function at(path: readonly (string | number)[]): string {
  if (path.length === 0) return '';
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return ` at ${place.slice(0, 200)}`;
}

function noSubscriptions(): GraphQLError {
  return new GraphQLError('There are no subscriptions here.', {
    extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
  });
}

/** Variables with their defaults: the compiled code knows none for a type that is not null. */
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

/** An error of compiled code lacks what a GraphQLError has; its place and path are kept. */
function asGraphQLError(error: GraphQLError): GraphQLError {
  const { message, path, originalError, locations } = error;
  const whole = new GraphQLError(message, {
    path: path ?? null,
    originalError: originalError ?? null,
    extensions: originalError instanceof GraphQLError ? originalError.extensions : null,
  });
  Object.defineProperty(whole, 'locations', { value: locations, enumerable: true });
  return whole;
}

/** An operation of a document in its compiled form; null where the compiler declines. */
function compile(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string,
): CompiledQuery | null {
  const disableLeafSerialization = !asksForEnum(schema, document);
  const result = compileQuery(schema, document, operationName, { disableLeafSerialization });
  return isCompiledQuery(result) ? result : null;
}

/**
 * Whether the compiler is right about a document, and not long about it. It forgets conditions where fields
 * are merged, loses entities whose references are refused, and names that are like the engine's own.
 */
function isSound(document: DocumentNode): boolean {
  let sound = (document.loc?.end ?? 0) <= MAX_COMPILED_CHARACTERS;
  visit(document, {
    Directive: () => {
      sound = false;
    },
    Field({ name, alias }) {
      if (name.value === '_entities' || alias?.value.startsWith('__')) sound = false;
    },
    VariableDefinition({ variable }) {
      if (variable.name.value in Object.prototype) sound = false;
    },
  });
  return sound;
}

/**
 * Whether a document asks for an enumeration: its values are others inside than outside. All other
 * leaves are made by our resolvers as what they are, which the types see to and the readers of
 * upstream/wire.ts: looking at each again would be a tenth of a long list.
 */
function asksForEnum(schema: GraphQLSchema, document: DocumentNode): boolean {
  const types = new TypeInfo(schema);
  let asks = false;
  visit(
    document,
    visitWithTypeInfo(types, {
      Field() {
        asks ||= isEnumType(getNamedType(types.getType()));
      },
    }),
  );
  return asks;
}
