import {
  type ASTNode,
  type ASTVisitFn,
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  parse,
  type Source,
  visit,
} from 'graphql';
import { type GatewayError, limitExceeded } from '../errors/gateway-error.ts';
import { fragmentsOf, selectionCosts, selectionCounts } from './selection-cost.ts';

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
  /** Fields, inline fragments and fragment spreads at all levels of an operation. */
  selections: 2_000,
  aliases: 200,
  directives: 50,
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
  const countSelections = selectionCounts(fragments);
  let comparisons = 0;
  const note = (fieldsOfName: number, level: number) => {
    check('levels of fields', level);
    check('fields of one response name', fieldsOfName);
    comparisons += fieldsOfName ** 2;
    check('comparisons of fields', comparisons);
  };
  for (const definition of definitions) {
    if (!('selectionSet' in definition)) continue;
    check('selections', countSelections(definition.selectionSet));
    const { aliases, names } = selectionCosts(schema, fragments, note)([definition.selectionSet]);
    check('aliases', aliases);
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    if (definition.operation === OperationTypeNode.MUTATION && names > maxWrites) {
      throw limitExceeded('writes', maxWrites);
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
  let [introspections, directives] = [0, 0];
  visit(document, {
    ListValue: literal,
    ObjectValue: literal,
    ListType: levels('levels of list types', Kind.LIST_TYPE),
    Directive() {
      directives += 1;
      check('directives', directives);
    },
    Name({ value }) {
      if (value === '__schema' || value === '__type') introspections += 1;
      check('fields for introspection', introspections);
      check('characters in a name', value.length);
    },
  });
}
