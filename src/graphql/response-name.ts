import { Kind, type OperationDefinitionNode, OperationTypeNode } from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';

/** A GraphQL name (section 2.1.9 of the GraphQL specification). */
const namePattern = /^[_A-Za-z][_0-9A-Za-z]{0,254}$/;

/**
 * Checks the header `Idempotency-Response-Name`: a router that splits a mutation sends in it the response name that the
 * field has for its client. Throws `BAD_USER_INPUT`.
 */
export function checkResponseName(
  { operation, selectionSet }: OperationDefinitionNode,
  name: string | undefined,
): void {
  if (name === undefined || operation !== OperationTypeNode.MUTATION) return;
  const { selections } = selectionSet;
  if (!namePattern.test(name)) throw badHeader('must be the name of a field');
  if (selections.length > 1 || selections[0]?.kind !== Kind.FIELD) {
    throw badHeader('needs an operation with one root field');
  }
}

function badHeader(problem: string): GatewayError {
  const message = `The header Idempotency-Response-Name ${problem}.`;
  return new GatewayError('BAD_USER_INPUT', message, { faults: [{ path: [], message }] });
}
