import type { TypedDocumentNode } from '@graphql-typed-document-node/core';

type StateOf<Of> = Of extends { getState(): infer State }
  ? State
  : Of extends { state: infer State }
    ? State
    : never;

/** The member in one phase of what `createWrite` or `useWrite` returns. */
export type MemberIn<Phase extends 'done' | 'refused', Of> =
  Extract<StateOf<Of>, { phase: Phase }> extends { member: infer Member } ? Member : never;

/** The type of a property of all members in a phase. */
export type PropertyIn<Phase extends 'done' | 'refused', Of, Name extends string> =
  MemberIn<Phase, Of> extends { readonly [Key in Name]: infer Value } ? Value : never;

/** The names of the members of the service's refusals. */
export type Refusals = 'LedgerFailed' | 'LedgerNotPermitted' | 'LedgerNoMoreInvoices';

/** A client that returns the type of its document, as Apollo Client, urql and graphql-request do. */
export declare function execute<Data, Variables>(
  document: TypedDocumentNode<Data, Variables>,
  variables?: Variables,
): Promise<{ data?: Data | null }>;

export const ledger = { url: 'http://127.0.0.1:4000/graphql' };
