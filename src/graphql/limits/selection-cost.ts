import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { GatewayError } from '../../errors/gateway-error.ts';

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** What a selection set contains at all levels, with its fragments expanded. */
type SelectionCost = {
  fields: number;
  /** The length of the JSON text of all fields if they are null. */
  length: number;
  aliases: number;
  directives: number;
  /** Levels of fields. */
  depth: number;
};

/** Computes the cost of selection sets. Each fragment is computed once and added wherever it is spread. */
export class SelectionCosts {
  readonly #fragments: Fragments;
  readonly #known = new Map<string, SelectionCost>();
  readonly #open = new Set<string>();

  constructor(fragments: Fragments) {
    this.#fragments = fragments;
  }

  /** Throws `OPERATION_LIMIT_EXCEEDED` for a fragment that spreads itself. */
  of(set: SelectionSetNode | undefined): SelectionCost {
    const sum: SelectionCost = { fields: 0, length: 0, aliases: 0, directives: 0, depth: 0 };
    for (const selection of set?.selections ?? []) {
      const isField = selection.kind === Kind.FIELD;
      const inner = this.#inside(selection);
      sum.fields += inner.fields + (isField ? 1 : 0);
      sum.length += inner.length + (isField ? lengthOf(selection) : 0);
      sum.aliases += inner.aliases + (isField && selection.alias ? 1 : 0);
      sum.directives += inner.directives + (selection.directives?.length ?? 0);
      sum.depth = Math.max(sum.depth, inner.depth + (isField ? 1 : 0));
    }
    return sum;
  }

  #inside(selection: SelectionNode): SelectionCost {
    return selection.kind === Kind.FRAGMENT_SPREAD
      ? this.#ofFragment(selection.name.value)
      : this.of(selection.selectionSet);
  }

  #ofFragment(name: string): SelectionCost {
    const known = this.#known.get(name);
    if (known) return known;
    if (this.#open.has(name)) {
      throw new GatewayError('OPERATION_LIMIT_EXCEEDED', 'A fragment spreads itself.');
    }
    this.#open.add(name);
    const fragment = this.#fragments.get(name);
    const cost = this.of(fragment?.selectionSet);
    cost.directives += fragment?.directives?.length ?? 0;
    this.#open.delete(name);
    this.#known.set(name, cost);
    return cost;
  }
}

/** The length of a field as `"name":null,`. */
function lengthOf({ alias, name }: FieldNode): number {
  return (alias ?? name).value.length + '"":null,'.length;
}

type Selection = Pick<SelectionCost, 'fields' | 'length'>;

const selectionsByNode = new WeakMap<FieldNode, Selection>();

/** What is selected of a field's value, at all levels. */
export function selectionOf({ fieldNodes, fragments }: GraphQLResolveInfo): Selection {
  const sum: Selection = { fields: 0, length: 0 };
  for (const node of fieldNodes) {
    const known = selectionsByNode.get(node);
    const selection =
      known ?? new SelectionCosts(new Map(Object.entries(fragments))).of(node.selectionSet);
    selectionsByNode.set(node, selection);
    sum.fields += selection.fields;
    sum.length += selection.length;
  }
  return sum;
}

/** The number of root fields of an operation, by response name. */
export function countRootFields(set: SelectionSetNode, fragments: Fragments): number {
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
