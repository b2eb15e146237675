import {
  type ASTNode,
  type ASTVisitFn,
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  type Source,
  visit,
} from 'graphql';
import { type GatewayError, limitExceeded } from '../errors/gateway-error.ts';
import { type Fragments, fragmentsOf, selectionCosts } from './selection-cost.ts';

/** The limits of a document (docs/reference/limits.md), checked with fragments expanded and before validation. */
const limits = {
  /** In UTF-8. */
  bytes: 131_072,
  tokens: 4_000,
  /** The path of every error repeats the names of its fields. */
  'characters in a name': 256,
  /** Each operation may be compiled on its own. */
  operations: 10,
  /** Validation compares them with each other. */
  fragments: 100,
  /** The introspection query of the explorers has 15. */
  'levels of fields': 20,
  aliases: 200,
  directives: 50,
  /** Fields at all levels. A response has as many if every list has one item. */
  fields: 2_000,
  /** Spreads at all levels, those of a fragment as often as it is spread. */
  'fragment spreads': 2_000,
  /** Fields in a selection set with the same response name. Validation compares them with each other. */
  'fields of one response name': 50,
  /** The sum of the squares of these numbers over a document. */
  'comparisons of fields': 5_000,
  /** Fields `__schema` and `__type`, each of which may return thousands of fields. */
  'fields for introspection': 5,
  /** Levels of list and object literals, which validation compares recursively. */
  'levels of nesting': 50,
  /** Levels of a list type. A value that is no list is wrapped at each level, and the schema has only one level. */
  'levels of list types': 2,
} as const;

type Limit = keyof typeof limits;

function exceeded(what: Limit): GatewayError {
  return limitExceeded(what, limits[what]);
}

function check(what: Limit, count: number): void {
  if (count > limits[what]) throw exceeded(what);
}

const tooManyTokens = `Syntax Error: Document contains more that ${limits.tokens} tokens. Parsing aborted.`;

/** Parses a document. Throws `OPERATION_LIMIT_EXCEEDED` with the name of the limit, or a GraphQLError for a syntax error. */
export function parseWithinLimits(
  source: Source,
  schema: GraphQLSchema,
  maxWrites: number,
): DocumentNode {
  check('bytes', Buffer.byteLength(source.body));
  try {
    const document = parse(source, { maxTokens: limits.tokens });
    checkNodes(document);
    checkDefinitions(document, schema, maxWrites);
    return document;
  } catch (error) {
    // The parser ran out of stack, because the document is nested too deeply.
    if (error instanceof RangeError) throw exceeded('levels of nesting');
    const isTooLong = error instanceof Error && error.message === tooManyTokens;
    throw isTooLong ? exceeded('tokens') : error;
  }
}

function checkDefinitions(document: DocumentNode, schema: GraphQLSchema, maxWrites: number): void {
  const { definitions } = document;
  const fragments = fragmentsOf(document);
  check('fragments', fragments.size);
  check('operations', definitions.length - fragments.size);
  const costOf = selectionCosts(schema, fragments);
  const countComparisons = comparisonsOf(fragments);
  for (const definition of definitions) {
    if (!('selectionSet' in definition)) continue;
    const { depth, aliases, directives, fields, spreads } = costOf(definition.selectionSet);
    check('levels of fields', depth);
    check('aliases', aliases);
    check('directives', directives + (definition.directives?.length ?? 0));
    check('fields', fields);
    check('fragment spreads', spreads);
    const rootFields = countComparisons([definition.selectionSet]);
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    if (definition.operation === OperationTypeNode.MUTATION && rootFields > maxWrites) {
      throw limitExceeded('writes', maxWrites);
    }
  }
}

/** Returns a function that counts the comparisons of fields with one response name, as validation makes them. */
function comparisonsOf(fragments: Fragments) {
  let total = 0;
  /** Counts the comparisons for selection sets that are merged. Returns the number of response names at their first level. */
  return function count(sets: readonly SelectionSetNode[]): number {
    const spread = new Set<string>();
    const fields = sets.flatMap((set) => [...fieldsIn(set, fragments, spread)]);
    const byName = Map.groupBy(fields, ({ alias, name }) => (alias ?? name).value);
    for (const { length } of byName.values()) {
      check('fields of one response name', length);
      total += length ** 2;
      check('comparisons of fields', total);
    }
    for (const equal of byName.values()) {
      const inner = equal.flatMap(({ selectionSet }) => selectionSet ?? []);
      if (inner.length > 0) count(inner);
    }
    return byName.size;
  };
}

/** The fields of a selection set at its first level, with each fragment expanded once. */
function* fieldsIn(
  { selections }: SelectionSetNode,
  fragments: Fragments,
  spread: Set<string>,
): Generator<FieldNode> {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) yield selection;
    else if (selection.kind === Kind.INLINE_FRAGMENT) {
      yield* fieldsIn(selection.selectionSet, fragments, spread);
    } else if (!spread.has(selection.name.value)) {
      spread.add(selection.name.value);
      const fragment = fragments.get(selection.name.value);
      if (fragment) yield* fieldsIn(fragment.selectionSet, fragments, spread);
    }
  }
}

function checkNodes(document: DocumentNode): void {
  /** Checks how deep nodes of these kinds are inside each other. */
  const levels = (what: Limit, ...kinds: Kind[]): ASTVisitFn<ASTNode> => {
    const isOne = (node: unknown) => kinds.includes(Object(node).kind);
    return (_, _key, parent, _path, ancestors) =>
      check(what, [...ancestors, parent].filter(isOne).length + 1);
  };
  const literal = levels('levels of nesting', Kind.LIST, Kind.OBJECT);
  let introspections = 0;
  visit(document, {
    ListValue: literal,
    ObjectValue: literal,
    ListType: levels('levels of list types', Kind.LIST_TYPE),
    Name({ value }) {
      if (value === '__schema' || value === '__type') introspections += 1;
      check('fields for introspection', introspections);
      check('characters in a name', value.length);
    },
  });
}
