import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import { memo } from '../lib/memo.ts';

/** The values of the variables of an operation. */
export type Variables = Record<string, unknown>;

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The fragments of a document, by name. */
export function fragmentsOf({ definitions }: DocumentNode): Fragments {
  return new Map(
    definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((definition) => [definition.name.value, definition]),
  );
}

/** The names of the fields of objects that have a resolver. All others are properties. */
const computedFields = memo((schema: GraphQLSchema): ReadonlySet<string> => {
  const roots = [schema.getQueryType(), schema.getMutationType()];
  const objects = Object.values(schema.getTypeMap()).filter(isObjectType);
  const fields = objects
    .filter((type) => !roots.includes(type) && !type.name.startsWith('_'))
    .flatMap((type) => Object.values(type.getFields()));
  return new Set(fields.filter(({ resolve }) => resolve).map(({ name }) => name));
});

/** The counts for a selection set: what it contains at all levels, with fragments expanded. */
const nothing = {
  fields: 0,
  /** The length of the JSON text of all fields if they are null. */
  length: 0,
  aliases: 0,
  directives: 0,
  spreads: 0,
  /** Levels of fields. */
  depth: 0,
};

type SelectionCost = typeof nothing & {
  /** The cost of what is selected of each field's value, by name. So a list is visited once, however many aliases it has. */
  children: Map<string, SelectionCost>;
};
const noCost = (): SelectionCost => ({ ...nothing, children: new Map() });

/** What a value takes in a response. */
export type Size = {
  /** The fields that are executed, including those of each list item. */
  fields: number;
  /** The bytes of their JSON at most, without texts. */
  bytes: number;
  /** The lists and objects in it, and by how many fields each is selected, every one of which may have all of its texts. */
  texts: [value: object, fields: number][];
};

/** Adds what a value takes to a size, and returns it. */
export function addSize(size: Size, value: unknown, selection: SelectionCost): Size {
  const { fields, length, children } = selection;
  if (typeof value !== 'object' || value === null) return size;
  if (Array.isArray(value) && children.size > 0) {
    for (const item of value) addSize(size, item, selection);
    return size;
  }
  const count = Array.isArray(value) ? value.length : 1;
  let own = fields;
  size.fields += fields * count;
  size.bytes += length * count;
  for (const [name, child] of children) {
    own -= child.fields;
    size.fields -= child.fields;
    size.bytes -= child.length;
    addSize(size, Reflect.get(value, name), child);
  }
  size.texts.push([value, own]);
  return size;
}

function add(sum: SelectionCost, other: SelectionCost): void {
  for (const count of ['fields', 'length', 'aliases', 'directives', 'spreads'] as const) {
    sum[count] += other[count];
  }
  sum.depth = Math.max(sum.depth, other.depth);
  for (const [name, cost] of other.children) {
    const child = sum.children.get(name) ?? noCost();
    sum.children.set(name, child);
    add(child, cost);
  }
}

/** The cost of a field. `inner` is the cost of its selection set. */
function costOfField(
  { alias, name, selectionSet }: FieldNode,
  inner: SelectionCost,
  computed: ReadonlySet<string>,
): SelectionCost {
  return {
    ...inner,
    children: selectionSet ? new Map([[name.value, inner]]) : inner.children,
    // A computed field costs as much as three plain fields. Percent-encoding can triple its length.
    fields: inner.fields + (computed.has(name.value) ? 3 : 1),
    length: inner.length + (alias ?? name).value.length + '"":null,'.length,
    depth: inner.depth + 1,
    aliases: inner.aliases + (alias ? 1 : 0),
  };
}

/**
 * Returns a function that computes the cost of a selection set. Each fragment is computed once, and counts wherever it is
 * spread. With `variables`, fields that their values exclude are not counted. The function throws `OPERATION_LIMIT_EXCEEDED`
 * for a fragment that spreads itself.
 */
export function selectionCosts(schema: GraphQLSchema, fragments: Fragments, variables?: Variables) {
  const computed = computedFields(schema);
  /** The costs of fragments by name. Null for a fragment that is being computed. */
  const known = new Map<string, SelectionCost | null>();

  function costOf(set: SelectionSetNode | undefined): SelectionCost {
    const sum = noCost();
    for (const selection of set?.selections ?? []) {
      if (variables && !isIncluded(selection, variables)) continue;
      sum.directives += selection.directives?.length ?? 0;
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        add(sum, costOfFragment(selection.name.value));
        sum.spreads += 1;
        continue;
      }
      const inner = costOf(selection.selectionSet);
      add(sum, selection.kind === Kind.FIELD ? costOfField(selection, inner, computed) : inner);
    }
    return sum;
  }

  function costOfFragment(name: string): SelectionCost {
    const cost = known.get(name);
    if (cost) return cost;
    if (cost === null) {
      throw new GatewayError('OPERATION_LIMIT_EXCEEDED', 'A fragment spreads itself.');
    }
    known.set(name, null);
    const fragment = fragments.get(name);
    const sum = costOf(fragment?.selectionSet);
    sum.directives += fragment?.directives?.length ?? 0;
    known.set(name, sum);
    return sum;
  }

  return costOf;
}

/** The costs that do not depend on variables. The nodes of a document live as long as it is remembered. */
const constant = new WeakMap<SelectionSetNode, SelectionCost>();

/** What is selected of a field's value, at all levels. */
export function selectionOf(info: GraphQLResolveInfo): SelectionCost {
  const [first, ...more] = info.fieldNodes;
  if (first && more.length === 0) return selectionAt(first, info);
  const sum = noCost();
  for (const node of info.fieldNodes) add(sum, selectionAt(node, info));
  return sum;
}

function selectionAt({ selectionSet }: FieldNode, info: GraphQLResolveInfo): SelectionCost {
  const known = selectionSet && constant.get(selectionSet);
  if (known || !selectionSet) return known ?? noCost();
  const fragments = new Map(Object.entries(info.fragments));
  const cost = selectionCosts(info.schema, fragments)(selectionSet);
  if (cost.directives > 0) {
    return selectionCosts(info.schema, fragments, info.variableValues)(selectionSet);
  }
  constant.set(selectionSet, cost);
  return cost;
}

/** Whether the `@include` and `@skip` of a selection let it be executed with these values. */
export function isIncluded({ directives = [] }: SelectionNode, variables: Variables): boolean {
  return directives.every(({ name, arguments: [condition] = [] }) => {
    const { value } = condition ?? {};
    if (value?.kind === Kind.BOOLEAN) return value.value === (name.value === 'include');
    if (value?.kind !== Kind.VARIABLE) return true;
    return variables[value.name.value] === (name.value === 'include');
  });
}
