import { GraphQLScalarType } from 'graphql';
import { IntegrationTarget, type Resolvers, WorkflowAction } from '../generated/resolvers.ts';
import { saveApprovers } from './approvers.ts';
import { idOf, resolveReference } from './gl-code-reference.ts';
import { glCodes } from './gl-codes.ts';
import { settleWrites } from './settle-writes.ts';
import { uploadWorkflowCsv, workflowAction } from './workflows.ts';

/**
 * The resolvers of the schema. The enum maps are generated from codegen.yml: a target is its integer and
 * an action is its operation. The scalar accepts every integer and the resolver rejects those outside the
 * service's set, so that one invalid option does not fail the other fields.
 */
export const resolvers = {
  Query: { glCodes },
  Mutation: { saveApprovers, uploadWorkflowCsv, workflowAction, settleWrites },
  GlCode: { __resolveReference: resolveReference, id: idOf },
  IntegrationTarget,
  WorkflowAction,
  WorkflowCsvOption: new GraphQLScalarType<number, number>({
    name: 'WorkflowCsvOption',
    serialize: readOption,
    parseValue: readOption,
  }),
} satisfies Resolvers;

function readOption(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw new TypeError('A WorkflowCsvOption is an integer.');
  }
  return value;
}
