import {
  type ASTVisitFn,
  type ASTVisitor,
  type DocumentNode,
  type FloatValueNode,
  GraphQLID,
  type GraphQLSchema,
  getNamedType,
  type IntValueNode,
  TypeInfo,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { isExact } from '../../lib/exact-json.ts';
import { argumentPath, type OperationFaults } from './operation-fault.ts';

/**
 * Returns a function that adds a fault for each number in a document, default values included, that a
 * double would change: graphql-js would send 1e400 as null, and 9007199254740993 as another number.
 */
export function createLiteralChecks(schema: GraphQLSchema) {
  /** Documents without such a number. Apollo keeps parsed documents in a bounded cache. */
  const exact = new WeakSet<DocumentNode>();
  return (document: DocumentNode, faults: OperationFaults): void => {
    if (exact.has(document)) return;
    let isDocumentExact = true;
    let variable: VariableDefinitionNode | undefined;
    const types = new TypeInfo(schema);
    const check: ASTVisitFn<IntValueNode | FloatValueNode> = (node, _, parent, keys, ancestors) => {
      const type = types.getInputType();
      // An ID keeps its digits.
      if ((type && getNamedType(type) === GraphQLID) || isExact(node.value)) return;
      isDocumentExact = false;
      const path = argumentPath(keys, [...ancestors, parent]);
      const message = 'A number in the document cannot be sent exactly.';
      if (variable) faults.addInVariable(variable, node, path, message);
      else faults.addAt(node, path, message);
    };
    const visitor: ASTVisitor = {
      VariableDefinition: {
        enter(node) {
          variable = node;
        },
        leave() {
          variable = undefined;
        },
      },
      IntValue: check,
      FloatValue: check,
    };
    visit(document, visitWithTypeInfo(types, visitor));
    if (isDocumentExact) exact.add(document);
  };
}
