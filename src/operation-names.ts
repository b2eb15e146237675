import * as generated from './generated/resolvers.ts';
import { type OperationName, operations } from './upstream/operations.ts';

/** The names of the values of enums that stand for operations, by operation. */
const enumNames = new Map<unknown, string>(
  Object.values(generated).flatMap((values) =>
    Object.entries(values).map(([name, operation]) => [operation, name] as const),
  ),
);

/** The root field that calls an operation, such as `workflowAction`. */
export function fieldOf(operation: OperationName): string {
  return operations[operation].graphql.replace(/^\w+\./, '');
}

/** The value of the enum argument that stands for an operation, such as `UPGRADE_TO_HQ`. Undefined if there is none. */
export function enumValueOf(operation: OperationName): string | undefined {
  return enumNames.get(operation);
}
