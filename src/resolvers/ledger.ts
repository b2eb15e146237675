import { readFileSync } from 'node:fs';
import { GraphQLScalarType } from 'graphql';
import { type GlCode, IntegrationTarget, type Resolvers } from '../generated/resolvers.ts';
import type { SchemaParts } from '../graphql/schema.ts';
import { operations } from '../upstream/declarations.ts';
import type { Operation, ReadRequest } from '../upstream/operations.ts';
import { saveApprovers } from './approvers.ts';
import { type GlCodeEntity, idOf } from './gl-code.ts';
import { readGlCodeReference } from './gl-code-reference.ts';
import { glCodes, glCodesArgs } from './gl-codes.ts';
import { settleWrites } from './settled-writes.ts';
import { csvUploadArgs, uploadWorkflowCsv } from './workflow-csv.ts';
import { workflowAction } from './workflows.ts';

/**
 * The resolvers of the schema. The enum map is generated from codegen.yml: the value of a target is its integer. The scalar for
 * options accepts every integer, and the resolver rejects those that the service does not know, so that an invalid option does
 * not fail the other fields.
 */
const resolvers = {
  Query: { glCodes },
  Mutation: {
    saveApprovers,
    uploadWorkflowCsv,
    workflowAction,
    settleWrites,
  },
  // A field that the entity does not have needs a resolver, or it would always be null.
  GlCode: { id: idOf } satisfies Record<Exclude<keyof GlCode, keyof GlCodeEntity>, unknown>,
  IntegrationTarget,
  WorkflowCsvOption: new GraphQLScalarType<number, number>({
    name: 'WorkflowCsvOption',
    parseValue(value) {
      if (Number.isInteger(value)) return Number(value);
      throw new TypeError('A WorkflowCsvOption is an integer.');
    },
  }),
} satisfies Resolvers;

/** The product in one value: all that the parts below need to know of it. */
export type Ledger = SchemaParts & {
  /** The operations of the service. */
  readonly operations: readonly Operation[];
  /** The read that is sent before a write while the circuit is open (docs/decisions/0005). */
  readonly probe: ReadRequest;
};

export const ledger: Ledger = {
  operations: Object.values(operations),
  probe: operations.getGLCodes5.encode({ target: -1, project: '', includeHide: false }),
  typeDefs: readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'),
  resolvers,
  argumentChecks: { glCodes: () => glCodesArgs, uploadWorkflowCsv: csvUploadArgs },
  entities: { GlCode: readGlCodeReference },
};
