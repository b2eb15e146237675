import {
  type DocumentNode,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  Source,
  TokenKind,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { GatewayError, limitExceeded } from '../../errors/gateway-error.ts';
import { countRootFields, type Fragments, SelectionCosts } from './selection-cost.ts';

/**
 * The limits of a document (docs/limits.md), checked with fragments expanded and before validation,
 * which is quadratic in places.
 */
const limits = {
  /** Bytes of the document, in UTF-8. */
  bytes: 131_072,
  lines: 5_000,
  tokens: 8_000,
  /** Characters of a name: the path of every error repeats the names of its fields. */
  name: 256,
  /** Operations of one document: each may be compiled on its own. */
  operations: 10,
  /** Levels of fields. The introspection query of the explorers has 15. */
  depth: 20,
  aliases: 200,
  rootFields: 200,
  directives: 50,
  /** Fields at all levels: what a response contains if every list has one item. */
  fields: 2_000,
  /** Levels of list and object literals, which validation compares recursively. */
  nesting: 50,
  /** Levels of a list type. A value that is not a list becomes one at each level, and the schema has one level. */
  listTypes: 2,
} as const;

/** Memory for the documents that passed, in characters. */
const CACHE_SIZE = 8_388_608;

/**
 * Returns a function that checks a document and remembers it if it passes. A document that does not
 * parse passes, because the executor reports that error. Throws `OPERATION_LIMIT_EXCEEDED` with the limit.
 */
export function createDocumentLimiter(maxWrites: number): (document: string) => void {
  const passed = new LRUCache<string, true>({
    maxSize: CACHE_SIZE,
    sizeCalculation: (_, document) => document.length + 1,
  });
  return (source) => {
    if (passed.has(source)) return;
    if (Buffer.byteLength(source) > limits.bytes) throw limitExceeded('bytes', limits.bytes);
    // For each validation error, graphql-js counts the lines before it.
    if (source.split(/[\r\n]/).length > limits.lines) throw limitExceeded('lines', limits.lines);
    const document = parseWithinLimits(source);
    if (document) checkDocument(document, maxWrites);
    passed.set(source, true);
  };
}

function parseWithinLimits(source: string): DocumentNode | undefined {
  try {
    const lexer = new Lexer(new Source(source));
    for (let tokens = 0; lexer.advance().kind !== TokenKind.EOF; tokens++) {
      if (tokens >= limits.tokens) throw limitExceeded('tokens', limits.tokens);
      const { kind, start, end } = lexer.token;
      if (kind === TokenKind.NAME && end - start > limits.name) {
        throw limitExceeded('characters in a name', limits.name);
      }
    }
    return parse(source, { noLocation: true });
  } catch (error) {
    // The document is nested so deeply that the parser ran out of stack.
    if (error instanceof RangeError) throw limitExceeded('levels of nesting', limits.nesting);
    if (error instanceof GatewayError) throw error;
    return undefined;
  }
}

function checkDocument(document: DocumentNode, maxWrites: number): void {
  checkNesting(document);
  const { definitions } = document;
  const fragments: Fragments = new Map(
    definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((definition) => [definition.name.value, definition]),
  );
  if (definitions.length - fragments.size > limits.operations) {
    throw limitExceeded('operations', limits.operations);
  }
  const costs = new SelectionCosts(fragments);
  for (const definition of definitions) {
    if (!('selectionSet' in definition)) continue;
    const { depth, aliases, directives, fields } = costs.of(definition.selectionSet);
    const allDirectives = directives + (definition.directives?.length ?? 0);
    if (depth > limits.depth) throw limitExceeded('levels of fields', limits.depth);
    if (aliases > limits.aliases) throw limitExceeded('aliases', limits.aliases);
    if (allDirectives > limits.directives) throw limitExceeded('directives', limits.directives);
    if (fields > limits.fields) throw limitExceeded('fields', limits.fields);
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      checkRootFields(definition, fragments, maxWrites);
    }
  }
}

function checkRootFields(
  { operation, selectionSet }: OperationDefinitionNode,
  fragments: Fragments,
  maxWrites: number,
): void {
  const rootFields = countRootFields(selectionSet, fragments);
  if (rootFields > limits.rootFields) throw limitExceeded('root fields', limits.rootFields);
  if (operation === OperationTypeNode.MUTATION && rootFields > maxWrites) {
    throw limitExceeded('writes', maxWrites);
  }
}

function checkNesting(document: DocumentNode): void {
  const levels = (limit: number, what: string) => {
    let depth = 0;
    return {
      enter() {
        depth += 1;
        if (depth > limit) throw limitExceeded(what, limit);
      },
      leave() {
        depth -= 1;
      },
    };
  };
  const literal = levels(limits.nesting, 'levels of nesting');
  const ListType = levels(limits.listTypes, 'levels of list types');
  visit(document, { ListValue: literal, ObjectValue: literal, ListType });
}
