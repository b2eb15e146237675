import {
  type DocumentNode,
  type FieldNode,
  Kind,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  type Source,
  visit,
} from 'graphql';
import { limitExceeded } from '../errors/gateway-error.ts';
import { type Fragments, fragmentsOf, SelectionCosts } from './selection-cost.ts';

/** The limits of a document (docs/limits.md), checked with fragments expanded and before validation. */
const limits = {
  /** Bytes of the document, in UTF-8. */
  bytes: 131_072,
  tokens: 4_000,
  /** Characters of a name: the path of every error repeats the names of its fields. */
  name: 256,
  /** Operations of one document: each may be compiled on its own. */
  operations: 10,
  /** Fragments of one document, which validation compares with each other. */
  fragments: 100,
  /** Levels of fields. The introspection query of the explorers has 15. */
  depth: 20,
  aliases: 200,
  rootFields: 200,
  directives: 50,
  /** Fields at all levels: what a response contains if every list has one item. */
  fields: 2_000,
  /** Fragments at all levels, each as often as it is spread. */
  spreads: 2_000,
  /** Fields of one response name in a selection set, which validation compares with each other. */
  sameName: 50,
  /** The squares of these numbers, summed up over a document. */
  comparisons: 5_000,
  /** Fields `__schema` and `__type`, each of which may return thousands of fields. */
  introspections: 5,
  /** Levels of list and object literals, which validation compares recursively. */
  nesting: 50,
  /** Levels of a list type. A value that is not a list becomes one at each level, and the schema has one level. */
  listTypes: 2,
} as const;

const tooManyTokens = `Syntax Error: Document contains more that ${limits.tokens} tokens. Parsing aborted.`;

/** Parses a document. Throws `OPERATION_LIMIT_EXCEEDED` with the limit, or a GraphQLError for its syntax. */
export function parseWithinLimits(source: Source, maxWrites: number): DocumentNode {
  if (Buffer.byteLength(source.body) > limits.bytes) throw limitExceeded('bytes', limits.bytes);
  try {
    const document = parse(source, { maxTokens: limits.tokens });
    checkNodes(document);
    checkDefinitions(document, maxWrites);
    return document;
  } catch (error) {
    // The document is nested so deeply that the parser ran out of stack.
    if (error instanceof RangeError) throw limitExceeded('levels of nesting', limits.nesting);
    const isTooLong = error instanceof Error && error.message === tooManyTokens;
    throw isTooLong ? limitExceeded('tokens', limits.tokens) : error;
  }
}

function checkDefinitions(document: DocumentNode, maxWrites: number): void {
  const { definitions } = document;
  const fragments = fragmentsOf(document);
  if (fragments.size > limits.fragments) throw limitExceeded('fragments', limits.fragments);
  if (definitions.length - fragments.size > limits.operations) {
    throw limitExceeded('operations', limits.operations);
  }
  const costs = new SelectionCosts(fragments);
  const comparisons = new Comparisons(fragments);
  for (const definition of definitions) {
    if (!('selectionSet' in definition)) continue;
    const { depth, aliases, directives, fields, spreads } = costs.of(definition.selectionSet);
    const allDirectives = directives + (definition.directives?.length ?? 0);
    if (depth > limits.depth) throw limitExceeded('levels of fields', limits.depth);
    if (aliases > limits.aliases) throw limitExceeded('aliases', limits.aliases);
    if (allDirectives > limits.directives) throw limitExceeded('directives', limits.directives);
    if (fields > limits.fields) throw limitExceeded('fields', limits.fields);
    if (spreads > limits.spreads) throw limitExceeded('fragment spreads', limits.spreads);
    const rootFields = comparisons.count([definition.selectionSet]);
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    if (rootFields > limits.rootFields) throw limitExceeded('root fields', limits.rootFields);
    if (definition.operation === OperationTypeNode.MUTATION && rootFields > maxWrites) {
      throw limitExceeded('writes', maxWrites);
    }
  }
}

/** Counts the comparisons of fields with one response name, as validation makes them. */
class Comparisons {
  readonly #fragments: Fragments;
  #total = 0;

  constructor(fragments: Fragments) {
    this.#fragments = fragments;
  }

  /** Counts those of selection sets that are merged. Returns the number of response names at their first level. */
  count(sets: readonly SelectionSetNode[]): number {
    const fieldsByName = new Map<string, FieldNode[]>();
    const spread = new Set<string>();
    for (const set of sets) this.#collect(set, fieldsByName, spread);
    for (const fields of fieldsByName.values()) {
      if (fields.length > limits.sameName) {
        throw limitExceeded('fields of one response name', limits.sameName);
      }
      this.#total += fields.length ** 2;
      if (this.#total > limits.comparisons) {
        throw limitExceeded('comparisons of fields', limits.comparisons);
      }
      const inner = fields.flatMap(({ selectionSet }) => selectionSet ?? []);
      if (inner.length > 0) this.count(inner);
    }
    return fieldsByName.size;
  }

  #collect(
    { selections }: SelectionSetNode,
    fieldsByName: Map<string, FieldNode[]>,
    spread: Set<string>,
  ): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        const name = (selection.alias ?? selection.name).value;
        const fields = fieldsByName.get(name);
        if (fields) fields.push(selection);
        else fieldsByName.set(name, [selection]);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        this.#collect(selection.selectionSet, fieldsByName, spread);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        const fragment = this.#fragments.get(selection.name.value);
        if (fragment) this.#collect(fragment.selectionSet, fieldsByName, spread);
      }
    }
  }
}

function checkNodes(document: DocumentNode): void {
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
  let introspections = 0;
  visit(document, {
    ListValue: literal,
    ObjectValue: literal,
    ListType: levels(limits.listTypes, 'levels of list types'),
    Name({ value }) {
      if (value === '__schema' || value === '__type') introspections += 1;
      if (introspections > limits.introspections) {
        throw limitExceeded('fields for introspection', limits.introspections);
      }
      if (value.length > limits.name) throw limitExceeded('characters in a name', limits.name);
    },
  });
}
