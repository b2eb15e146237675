import { GraphQLScalarType } from 'graphql';
import type { z } from 'zod';
import {
  type GlCode,
  IntegrationTarget,
  type Resolvers,
  WorkflowAction,
} from '../generated/resolvers.ts';
import type { KnownOutcome } from '../idempotency/recorded-outcome.ts';
import { approversSaved, saveApprovers } from './approvers.ts';
import type { ReadReference } from './entity.ts';
import type { GlCodeEntity } from './gl-code.ts';
import { idOf, readGlCodeReference } from './gl-code-reference.ts';
import { glCodes, glCodesArgs } from './gl-codes.ts';
import { writeOutcome } from './outcome.ts';
import { csvUploadArgs, csvUploaded, uploadWorkflowCsv } from './workflow-csv.ts';
import { actionCompleted, workflowAction } from './workflows.ts';

/**
 * The resolvers of the schema. The enum maps are generated from codegen.yml: the value of a target is its integer, and that of
 * an action is its operation. The scalar for options accepts every integer, and the resolver rejects those that the service
 * does not know, so that an invalid option does not fail the other fields.
 */
export const resolvers = {
  Query: { glCodes },
  Mutation: {
    saveApprovers,
    uploadWorkflowCsv,
    workflowAction,
    async settleWrites(_, { idempotencyKey, ageMs }, { settle }) {
      const { writes, ...settled } = await settle(idempotencyKey, ageMs);
      const members = writes.map(({ responseName, outcome }) => {
        return { responseName, outcome: writeOutcome(outcome, memberOf) };
      });
      return { ...settled, writes: members };
    },
  },
  // A field that the entity does not have needs a resolver, or it would always be null.
  GlCode: { id: idOf } satisfies Record<Exclude<keyof GlCode, keyof GlCodeEntity>, unknown>,
  IntegrationTarget,
  WorkflowAction,
  WorkflowCsvOption: new GraphQLScalarType<number, number>({
    name: 'WorkflowCsvOption',
    parseValue(value) {
      if (Number.isInteger(value)) return Number(value);
      throw new TypeError('A WorkflowCsvOption is an integer.');
    },
  }),
} satisfies Resolvers;

/** Checks that the types of arguments cannot express, by root field (graphql/argument-checks.ts). */
export const argumentChecks: Readonly<Record<string, z.ZodType>> = {
  glCodes: glCodesArgs,
  uploadWorkflowCsv: csvUploadArgs,
};

/** The types with `@key`, and the function that reads a reference of another subgraph to each. */
export const entities: Readonly<Record<string, ReadReference>> = { GlCode: readGlCodeReference };

/** The union member for a recorded response, the same as when the write was executed. */
export function memberOf(known: KnownOutcome) {
  switch (known.operation) {
    case 'saveApproverList':
      return approversSaved(known.response);
    case 'updateWorkflowCSV':
      return csvUploaded(known.response);
    default:
      return actionCompleted(known.operation, known.response);
  }
}
