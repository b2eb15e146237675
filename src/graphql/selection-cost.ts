import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import { memo } from '../lib/memo.ts';

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The fragments of a document, by name. */
export function fragmentsOf({ definitions }: DocumentNode): Fragments {
  return new Map(
    definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((definition) => [definition.name.value, definition]),
  );
}

/**
 * The names of the fields of objects that count in a way of their own: lists, and those that have a resolver. All others are
 * properties. Throws if the items of a list have lists, because nothing would count the items of those.
 */
const specialFields = memo((schema: GraphQLSchema) => {
  const roots = [schema.getQueryType(), schema.getMutationType()];
  const isList = ({ type }: GraphQLField<unknown, unknown>) => isListType(getNullableType(type));
  const fieldsOf = (type: GraphQLObjectType) => Object.values(type.getFields());
  const objects = Object.values(schema.getTypeMap()).filter(isObjectType);
  const fields = objects
    .filter((type) => !roots.includes(type) && !type.name.startsWith('_'))
    .flatMap(fieldsOf);
  const lists = fields.filter(isList);
  const items = lists.map(({ type }) => getNamedType(type)).filter(isObjectType);
  if (items.flatMap(fieldsOf).some(isList)) throw new Error('The items of a list have lists.');
  return {
    computed: new Set(fields.filter(({ resolve }) => resolve).map(({ name }) => name)),
    lists: new Set(lists.map(({ name }) => name)),
  };
});

/** The counts for what is selected at all levels. Fields with the same response name are merged, as they are executed. */
const nothing = {
  fields: 0,
  /** Those of its fields that are selected of the items of lists. */
  itemFields: 0,
  /** The length of the JSON text of all fields if they are null. */
  length: 0,
  /** That of those fields that are selected of the items of lists. */
  itemLength: 0,
  aliases: 0,
  /** The fields before they are merged. */
  nodes: 0,
  /** The response names at the first level. */
  names: 0,
};

type SelectionCost = Readonly<typeof nothing>;

/**
 * Returns a function that counts the selections in a set at all levels, those of a fragment as often as it is spread. Compiling a
 * query takes as many steps. The function throws `OPERATION_LIMIT_EXCEEDED` for a fragment that spreads itself.
 */
export function selectionCounts(fragments: Fragments): (set: SelectionSetNode) => number {
  /** By the name of the fragment. Null while it is being counted. */
  const known = new Map<string, number | null>();
  const countFragment = (name: string): number => {
    const count = known.get(name);
    if (count === null) {
      throw new GatewayError('OPERATION_LIMIT_EXCEEDED', 'A fragment spreads itself.');
    }
    if (count !== undefined) return count;
    known.set(name, null);
    const counted = countSet(fragments.get(name)?.selectionSet);
    known.set(name, counted);
    return counted;
  };
  const countSet = (set: SelectionSetNode | undefined): number => {
    let count = 0;
    for (const selection of set?.selections ?? []) {
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      count +=
        1 + (isSpread ? countFragment(selection.name.value) : countSet(selection.selectionSet));
    }
    return count;
  };
  return countSet;
}

/**
 * Returns a function that computes the cost of the selection sets of one value. A field counts also where `@skip` or `@include`
 * leave it out. Call it only for documents within the limits.
 *
 * @param note is called with the number of fields of each response name, and with their level, before what they select is counted
 */
export function selectionCosts(
  schema: GraphQLSchema,
  fragments: Fragments,
  note: (fields: number, level: number) => void = () => {},
) {
  const { computed, lists } = specialFields(schema);
  /** Adds the fields of a selection set at its first level, with each fragment expanded once, as in an execution. */
  function collect(
    { selections }: SelectionSetNode,
    fields: FieldNode[],
    spread: Set<string>,
  ): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields.push(selection);
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        collect(selection.selectionSet, fields, spread);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment) collect(fragment.selectionSet, fields, spread);
      }
    }
  }

  /** Adds the fields with one response name. */
  function add(sum: typeof nothing, responseName: string, nodes: FieldNode[], level: number): void {
    const isOneOf = (names: ReadonlySet<string>) => nodes.some(({ name }) => names.has(name.value));
    const selected = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const inner = selected.length > 0 ? costOf(selected, level + 1) : nothing;
    // A computed field costs as much as three plain fields. Percent-encoding can triple its length.
    sum.fields += inner.fields + (isOneOf(computed) ? 3 : 1);
    sum.itemFields += isOneOf(lists) ? inner.fields : inner.itemFields;
    sum.itemLength += isOneOf(lists) ? inner.length : inner.itemLength;
    sum.length += inner.length + responseName.length + '"":null,'.length;
    sum.aliases += inner.aliases + (nodes.some(({ alias }) => alias) ? 1 : 0);
    sum.nodes += inner.nodes + nodes.length;
  }

  function costOf(sets: readonly SelectionSetNode[], level = 1): SelectionCost {
    const nodes: FieldNode[] = [];
    const spread = new Set<string>();
    for (const set of sets) collect(set, nodes, spread);
    const byName = Map.groupBy(nodes, ({ alias, name }) => (alias ?? name).value);
    for (const { length } of byName.values()) note(length, level);
    const sum = { ...nothing, names: byName.size };
    for (const [responseName, equal] of byName) add(sum, responseName, equal, level);
    return sum;
  }
  return costOf;
}

/** The costs of fields with one node. The nodes of a document live as long as it is remembered. */
const costs = new WeakMap<FieldNode, SelectionCost>();

/** What is selected of a field's value. */
export function selectionOf({ fieldNodes, schema, fragments }: GraphQLResolveInfo): SelectionCost {
  const [node, ...more] = fieldNodes;
  const known = node && more.length === 0 ? costs.get(node) : undefined;
  if (known || !node) return known ?? nothing;
  const sets = fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  const cost = selectionCosts(schema, new Map(Object.entries(fragments)))(sets);
  if (more.length === 0) costs.set(node, cost);
  return cost;
}
