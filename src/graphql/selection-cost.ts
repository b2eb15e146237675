import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
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
import { GatewayError, limitExceeded } from '../errors/gateway-error.ts';
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

/** Fields, inline fragments and fragment spreads at all levels of an operation, those of a fragment at each level that spreads it. */
const MAX_SELECTIONS = 2_000;

/** The counts for what is selected at all levels. Fields with the same response name are merged, as they are executed. */
const nothing = {
  fields: 0,
  /** Those of its fields that are selected of the items of lists. */
  itemFields: 0,
  /** The length of the JSON text of all fields if they are null. */
  length: 0,
  aliases: 0,
  /** The fields before they are merged. */
  nodes: 0,
  /** The response names at the first level. */
  names: 0,
};

type SelectionCost = Readonly<typeof nothing>;

/** The fragments that are expanded at one level, by name. */
type Spread = Map<string, 'open' | 'done'>;

/**
 * Returns a function that computes the cost of the selection sets of one value. A field counts also where `@skip` or `@include`
 * leave it out. The function throws `OPERATION_LIMIT_EXCEEDED` for too many selections, or a fragment that spreads itself.
 *
 * @param note is called with the number of fields of each response name, and with their level, before what they select is counted
 */
export function selectionCosts(
  schema: GraphQLSchema,
  fragments: Fragments,
  note: (fields: number, level: number) => void = () => {},
) {
  const { computed, lists } = specialFields(schema);
  let visited = 0;
  /** Adds the fields of a selection set at its first level, with each fragment expanded once, as in an execution. */
  function collect({ selections }: SelectionSetNode, fields: FieldNode[], spread: Spread): void {
    for (const selection of selections) {
      visited += 1;
      if (visited > MAX_SELECTIONS) throw limitExceeded('selections', MAX_SELECTIONS);
      if (selection.kind === Kind.FIELD) fields.push(selection);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) addFragment(selection, fields, spread);
      else collect(selection.selectionSet, fields, spread);
    }
  }

  function addFragment({ name }: FragmentSpreadNode, fields: FieldNode[], spread: Spread): void {
    if (spread.get(name.value) === 'open')
      throw new GatewayError('OPERATION_LIMIT_EXCEEDED', 'A fragment spreads itself.');
    const fragment = fragments.get(name.value);
    if (!fragment || spread.has(name.value)) return; // Validation rejects a document that lacks a fragment.
    spread.set(name.value, 'open');
    collect(fragment.selectionSet, fields, spread);
    spread.set(name.value, 'done');
  }

  /** Adds the fields with one response name. */
  function add(sum: typeof nothing, responseName: string, nodes: FieldNode[], level: number): void {
    const isOneOf = (names: ReadonlySet<string>) => nodes.some(({ name }) => names.has(name.value));
    const selected = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const inner = selected.length > 0 ? costOf(selected, level + 1) : nothing;
    // A computed field costs as much as three plain fields. Percent-encoding can triple its length.
    sum.fields += inner.fields + (isOneOf(computed) ? 3 : 1);
    sum.itemFields += isOneOf(lists) ? inner.fields : inner.itemFields;
    sum.length += inner.length + responseName.length + '"":null,'.length;
    sum.aliases += inner.aliases + (nodes.some(({ alias }) => alias) ? 1 : 0);
    sum.nodes += inner.nodes + nodes.length;
  }

  function costOf(sets: readonly SelectionSetNode[], level = 1): SelectionCost {
    const [nodes, spread]: [FieldNode[], Spread] = [[], new Map()];
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
