import {
  type DocumentNode,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  Kind,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { fragmentsOf } from './selection-cost.ts';

/**
 * Whether a document selects a union or interface without `__typename`. Apollo Client then takes no fields of it from
 * the response, and reports no error.
 */
export function lacksTypename(schema: GraphQLSchema, document: DocumentNode): boolean {
  const fragments = fragmentsOf(document);
  /** Fragments on the type itself count, those on one of its members do not. */
  const has = ({ selections }: SelectionSetNode, type: string): boolean =>
    selections.some((selection) => {
      if (selection.kind === Kind.FIELD) {
        return selection.name.value === '__typename' && !selection.alias;
      }
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      const fragment = isSpread ? fragments.get(selection.name.value) : selection;
      const condition = fragment?.typeCondition?.name.value ?? type;
      return fragment !== undefined && condition === type && has(fragment.selectionSet, type);
    });
  const types = new TypeInfo(schema);
  let lacks = false;
  visit(
    document,
    visitWithTypeInfo(types, {
      Field({ selectionSet }) {
        const type = getNamedType(types.getType());
        if (selectionSet && isAbstractType(type)) lacks ||= !has(selectionSet, type.name);
      },
    }),
  );
  return lacks;
}

/** The name of the operation in a document. Undefined without one. */
export function nameOf({ definitions }: DocumentNode): string | undefined {
  const operation = definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  return operation && 'name' in operation ? operation.name?.value : undefined;
}
