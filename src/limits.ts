import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  Lexer,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  Source,
  TokenKind,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { GatewayError } from './errors.ts';

/**
 * What an operation may cost, counted with its fragments unfolded and before anything of it is
 * validated or executed: validation itself is quadratic in places.
 */
const limits = {
  /** Bytes of the document, in UTF-8. */
  bytes: 131_072,
  lines: 5_000,
  tokens: 8_000,
  /** Operations of one document: each may be compiled on its own. */
  operations: 10,
  /** Levels of fields. Introspection as the explorers ask it goes 15 deep. */
  depth: 20,
  aliases: 200,
  rootFields: 200,
  directives: 50,
  /** Fields of all levels: what a response could hold if every list had one item. */
  fields: 2_000,
  /** Levels of list and object literals, which validation compares recursively. */
  nesting: 50,
} as const;

type Cost = { fields: number; aliases: number; directives: number; depth: number };

/**
 * Checks documents against the limits; one that held is remembered. A document that does not parse
 * is let through: the executor says what is wrong with it.
 *
 * @throws GatewayError `OPERATION_LIMIT_EXCEEDED`, naming the limit
 */
export function createLimiter(maxWrites: number): (document: string) => void {
  const held = new LRUCache<string, true>({
    maxSize: 8_388_608,
    sizeCalculation: (_, document) => document.length + 1,
  });
  return (source) => {
    if (held.has(source)) return;
    if (Buffer.byteLength(source) > limits.bytes) throw exceeded('bytes', limits.bytes);
    // Each error of a validation counts the lines before it.
    if (source.split(/[\r\n]/).length > limits.lines) throw exceeded('lines', limits.lines);
    const document = parseWithin(source);
    if (document) check(document, maxWrites);
    held.set(source, true);
  };
}

/** Values of all levels in a request's body: each is looked at several times before it is sent on. */
const MAX_VALUES = 250_000;

/**
 * Checks how many values a body holds, which are its variables but for two or three.
 *
 * @throws GatewayError `OPERATION_LIMIT_EXCEEDED`
 */
export function checkVariables(body: unknown): void {
  const open = [body];
  let values = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== 'object' || one === null) continue;
    const inside: unknown[] = Array.isArray(one) ? one : Object.values(one);
    values += inside.length;
    if (values > MAX_VALUES) throw exceeded('values in its variables', MAX_VALUES);
    for (const value of inside) if (typeof value === 'object' && value !== null) open.push(value);
  }
}

function parseWithin(source: string): DocumentNode | undefined {
  try {
    const lexer = new Lexer(new Source(source));
    for (let tokens = 0; lexer.advance().kind !== TokenKind.EOF; tokens++) {
      if (tokens >= limits.tokens) throw exceeded('tokens', limits.tokens);
    }
    return parse(source, { noLocation: true });
  } catch (error) {
    // Nested so deeply that the parser ran out of stack.
    if (error instanceof RangeError) throw exceeded('levels of nesting', limits.nesting);
    if (error instanceof GatewayError) throw error;
    return undefined;
  }
}

function check(document: DocumentNode, maxWrites: number): void {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition);
    }
  }
  checkNesting(document);
  if (document.definitions.length - fragments.size > limits.operations) {
    throw exceeded('operations', limits.operations);
  }
  const costOf = createCounter(fragments);
  for (const definition of document.definitions) {
    if (!('selectionSet' in definition)) continue;
    const cost = costOf(definition.selectionSet);
    const directives = cost.directives + (definition.directives?.length ?? 0);
    if (cost.depth > limits.depth) throw exceeded('levels of fields', limits.depth);
    if (cost.aliases > limits.aliases) throw exceeded('aliases', limits.aliases);
    if (directives > limits.directives) throw exceeded('directives', limits.directives);
    if (cost.fields > limits.fields) throw exceeded('fields', limits.fields);
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const roots = rootFields(definition.selectionSet, fragments);
    if (roots > limits.rootFields) throw exceeded('root fields', limits.rootFields);
    if (definition.operation === OperationTypeNode.MUTATION && roots > maxWrites) {
      throw exceeded('writes', maxWrites);
    }
  }
}

function checkNesting(document: DocumentNode): void {
  let depth = 0;
  const enter = () => {
    depth += 1;
    if (depth > limits.nesting) throw exceeded('levels of nesting', limits.nesting);
  };
  const leave = () => {
    depth -= 1;
  };
  visit(document, { ListValue: { enter, leave }, ObjectValue: { enter, leave } });
}

/** Counts a selection set. Each fragment is counted once and its cost added wherever it is spread. */
function createCounter(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
  const known = new Map<string, Cost>();
  const open = new Set<string>();

  function ofFragment(name: string): Cost {
    const cost = known.get(name);
    if (cost) return cost;
    const nothing = { fields: 0, aliases: 0, directives: 0, depth: 0 };
    const fragment = fragments.get(name);
    if (!fragment) return nothing;
    if (open.has(name))
      throw new GatewayError('OPERATION_LIMIT_EXCEEDED', 'A fragment spreads itself.');
    open.add(name);
    const counted = of(fragment.selectionSet);
    counted.directives += fragment.directives?.length ?? 0;
    open.delete(name);
    known.set(name, counted);
    return counted;
  }

  function of(set: SelectionSetNode): Cost {
    const sum: Cost = { fields: 0, aliases: 0, directives: 0, depth: 0 };
    for (const selection of set.selections) {
      sum.directives += selection.directives?.length ?? 0;
      let inner: Cost | undefined;
      let level = 0;
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        inner = ofFragment(selection.name.value);
      } else {
        if (selection.kind === Kind.FIELD) {
          level = 1;
          sum.fields += 1;
          if (selection.alias) sum.aliases += 1;
        }
        inner = selection.selectionSet && of(selection.selectionSet);
      }
      sum.fields += inner?.fields ?? 0;
      sum.aliases += inner?.aliases ?? 0;
      sum.directives += inner?.directives ?? 0;
      sum.depth = Math.max(sum.depth, level + (inner?.depth ?? 0));
    }
    return sum;
  }

  return of;
}

const selected = new WeakMap<FieldNode, number>();

/** The fields of all levels that are asked of a field's value, those of fragments with them. */
export function selectedFields({ fieldNodes, fragments }: GraphQLResolveInfo): number {
  return fieldNodes.reduce((sum, node) => {
    const known = selected.get(node);
    if (known !== undefined) return sum + known;
    const costOf = createCounter(new Map(Object.entries(fragments)));
    const { fields } = node.selectionSet ? costOf(node.selectionSet) : { fields: 0 };
    selected.set(node, fields);
    return sum + fields;
  }, 0);
}

/** The fields of an operation's root, those of fragments with them. */
function rootFields(
  set: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): number {
  const names = new Set<string>();
  const spread = new Set<string>();
  const collect = ({ selections }: SelectionSetNode) => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        names.add(selection.alias?.value ?? selection.name.value);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        collect(selection.selectionSet);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment) collect(fragment.selectionSet);
      }
    }
  };
  collect(set);
  return names.size;
}

function exceeded(what: string, limit: number): GatewayError {
  return new GatewayError(
    'OPERATION_LIMIT_EXCEEDED',
    `The operation has more ${what} than the ${limit} allowed.`,
  );
}
