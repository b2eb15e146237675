import type { createRestart as createApollo } from './apollo.ts';
import type { createRestart as createAxios } from './axios.ts';
import type { createRestart as createTada } from './gql-tada.ts';
import type { createRestart as createGraphqlRequest } from './graphql-request.ts';
import type { createRestart as createRelay } from './relay.ts';
import type { createRestart as createRtkQuery } from './rtk-query.ts';
import type { createRestart as createUrql } from './urql.ts';
import type { createRestart as createVillus } from './villus.ts';

/* A test of types: the members that the write of each example has. The compiler checks this file. */

type State<Create extends (options: never) => { getState(): unknown }> = ReturnType<
  ReturnType<Create>['getState']
>;
type Refused<Of> =
  Extract<Of, { phase: 'refused' }> extends { member: infer Member } ? Member : never;
type Done<Of> = Extract<Of, { phase: 'done' }> extends { member: infer Member } ? Member : never;

type Exactly<A, B> = [A, B] extends [B, A] ? true : never;
type Refusals = 'LedgerFailed' | 'LedgerNotPermitted' | 'LedgerNoMoreInvoices';
type Name<Member> = Member extends { __typename: infer Names } ? Names : never;

type Clients = {
  apollo: State<typeof createApollo>;
  axios: State<typeof createAxios>;
  graphqlRequest: State<typeof createGraphqlRequest>;
  rtkQuery: State<typeof createRtkQuery>;
  tada: State<typeof createTada>;
  urql: State<typeof createUrql>;
  villus: State<typeof createVillus>;
};

/** Each client has the member, and no other. */
const all = {
  apollo: true,
  axios: true,
  graphqlRequest: true,
  rtkQuery: true,
  tada: true,
  urql: true,
  villus: true,
} as const;

export const refused: {
  [Client in keyof Clients]: Exactly<Name<Refused<Clients[Client]>>, Refusals>;
} = all;

export const done: {
  [Client in keyof Clients]: Exactly<Name<Done<Clients[Client]>>, 'WorkflowActionCompleted'>;
} = all;

// A selection by an interface has no names of members in Relay, but its fields.
type Message = Refused<State<typeof createRelay>> extends { message?: infer Text } ? Text : never;
export const message: Exactly<Message, string | null | undefined> = true;
