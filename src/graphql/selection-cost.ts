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

/** The counts for a selection set: what it contains at all levels, with fragments expanded. */
const nothing = {
  fields: 0,
  /** Those of its fields that are selected of the items of lists. */
  itemFields: 0,
  /** The length of the JSON text of all fields if they are null. */
  length: 0,
  aliases: 0,
  directives: 0,
  spreads: 0,
  /** Levels of fields. */
  depth: 0,
};

type SelectionCost = Readonly<typeof nothing>;

function add(sum: typeof nothing, other: SelectionCost): void {
  for (const count of [
    'fields',
    'itemFields',
    'length',
    'aliases',
    'directives',
    'spreads',
  ] as const) {
    sum[count] += other[count];
  }
  sum.depth = Math.max(sum.depth, other.depth);
}

/** The cost of a field. `inner` is the cost of its selection set. */
function costOfField(
  { alias, name }: FieldNode,
  inner: SelectionCost,
  { computed, lists }: ReturnType<typeof specialFields>,
): SelectionCost {
  return {
    ...inner,
    // A computed field costs as much as three plain fields. Percent-encoding can triple its length.
    fields: inner.fields + (computed.has(name.value) ? 3 : 1),
    itemFields: lists.has(name.value) ? inner.fields : inner.itemFields,
    length: inner.length + (alias ?? name).value.length + '"":null,'.length,
    depth: inner.depth + 1,
    aliases: inner.aliases + (alias ? 1 : 0),
  };
}

/** The costs that are known. The nodes of a document live as long as it is remembered. */
const costs = new WeakMap<SelectionSetNode, SelectionCost>();

/**
 * Returns a function that computes the cost of a selection set, once for each. A fragment counts wherever it is spread, and a
 * field also where `@skip` or `@include` leave it out. The function throws `OPERATION_LIMIT_EXCEEDED` for a fragment that spreads
 * itself.
 */
export function selectionCosts(schema: GraphQLSchema, fragments: Fragments) {
  const special = specialFields(schema);
  /** The names of the fragments that are being computed. */
  const open = new Set<string>();

  function costOf(set: SelectionSetNode | undefined): SelectionCost {
    if (!set) return nothing;
    const known = costs.get(set);
    if (known) return known;
    const sum = { ...nothing };
    for (const selection of set.selections) {
      sum.directives += selection.directives?.length ?? 0;
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        addFragment(sum, selection.name.value);
        continue;
      }
      const inner = costOf(selection.selectionSet);
      add(sum, selection.kind === Kind.FIELD ? costOfField(selection, inner, special) : inner);
    }
    costs.set(set, sum);
    return sum;
  }

  function addFragment(sum: typeof nothing, name: string): void {
    if (open.has(name)) {
      throw new GatewayError('OPERATION_LIMIT_EXCEEDED', 'A fragment spreads itself.');
    }
    open.add(name);
    const { selectionSet, directives = [] } = fragments.get(name) ?? {};
    add(sum, costOf(selectionSet));
    sum.directives += directives.length;
    sum.spreads += 1;
    open.delete(name);
  }

  return costOf;
}

/** What is selected of a field's value, at all levels. */
export function selectionOf({ fieldNodes, schema, fragments }: GraphQLResolveInfo): SelectionCost {
  const sum = { ...nothing };
  for (const { selectionSet } of fieldNodes) {
    const known = selectionSet && costs.get(selectionSet);
    // A node that the document does not have: compiled code has nodes of its own.
    add(sum, known ?? selectionCosts(schema, new Map(Object.entries(fragments)))(selectionSet));
  }
  return sum;
}
