import {
  type ASTNode,
  type DocumentNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type VariableDefinitionNode,
  visit,
} from 'graphql';
import { type InputFault, InputFaults, type Path } from '../errors/input-fault.ts';

/** Collects the faults of the variables and literals of an operation. Nothing of it is executed then. */
export class OperationFaults extends InputFaults {
  readonly #document: DocumentNode;
  readonly #operation: OperationDefinitionNode;
  #uses: Map<string, Path> | undefined;
  readonly #nodes = new Set<ASTNode>();

  constructor(document: DocumentNode, operation: OperationDefinitionNode) {
    super();
    this.#document = document;
    this.#operation = operation;
  }

  /** Adds a fault of a value in the document. */
  addAt(node: ASTNode, path: Path, message: string): void {
    this.#nodes.add(node);
    this.add(path, message);
  }

  /** Adds a fault inside a variable. Its path begins where the operation first uses the variable. */
  addInVariable({ variable }: VariableDefinitionNode, node: ASTNode, path: Path, message: string) {
    this.#uses ??= firstUses(this.#document, this.#operation);
    const use = this.#uses.get(variable.name.value) ?? [];
    this.addAt(node, [...use, ...path], message);
  }

  protected override toError(message: string, faults: InputFault[]): GraphQLError {
    return new GraphQLError(message, {
      nodes: [...this.#nodes],
      extensions: { code: 'BAD_USER_INPUT', http: { status: 400 }, faults },
    });
  }
}

/** The path of the first use of each variable of an operation. */
function firstUses(document: DocumentNode, operation: OperationDefinitionNode): Map<string, Path> {
  const uses = new Map<string, Path>();
  visit(document, {
    OperationDefinition: (node) => (node === operation ? undefined : false),
    VariableDefinition: () => false,
    Variable({ name }, _key, parent, keys, ancestors) {
      if (uses.has(name.value)) return;
      uses.set(name.value, argumentPath(keys, [...ancestors, parent]));
    },
  });
  return uses;
}

/**
 * The path of a value in a document, from its argument on. `visit` passes the keys from the document to the
 * value, and the node or list in which each of them is.
 */
export function argumentPath(
  keys: readonly (string | number)[],
  parents: readonly (ASTNode | readonly ASTNode[] | undefined)[],
): Path {
  return parents.flatMap((parent, level) => {
    const key = keys[level];
    if (parent === undefined || key === undefined) return [];
    if (!('kind' in parent)) {
      const list = parents[level - 1];
      return list && 'kind' in list && list.kind === Kind.LIST ? [key] : [];
    }
    const isNamed = parent.kind === Kind.ARGUMENT || parent.kind === Kind.OBJECT_FIELD;
    return isNamed ? [parent.name.value] : [];
  });
}
