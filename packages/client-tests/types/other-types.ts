import {
  type AnyResult,
  createWrite,
  type Outcome,
  retryQueries,
  type Write,
  type WriteOptions,
} from '@ledger-gateway/client';
import { useWrite } from '@ledger-gateway/client/react';
import { expectTypeOf } from 'expect-type';
import { ledger, type MemberIn, type Refusals } from './state.ts';

/* Types of other generators, and those that somebody writes by hand. */

const restart = { ...ledger, field: 'workflowAction' } as const;

// By hand, in groups of members with the same fields. A group may have a refusal and another problem.
type Problem = { message: string | null };
type Grouped = {
  workflowAction:
    | { __typename: 'WorkflowActionCompleted' }
    | ({ __typename: 'LedgerFailed' | 'LedgerNotPermitted' } & Problem)
    | ({ __typename: 'LedgerNoMoreInvoices' | 'LedgerUnrecognizedStatus' } & Problem)
    | ({ __typename: 'LedgerOutcomeUnknown'; code: string } & Problem)
    | null;
};
const grouped = createWrite({ ...restart, send: async (): Promise<{ data?: Grouped }> => ({}) });
expectTypeOf<MemberIn<'refused', typeof grouped>['__typename']>().toEqualTypeOf<Refusals>();
expectTypeOf<MemberIn<'refused', typeof grouped>['message']>().toEqualTypeOf<string | null>();
expectTypeOf<
  MemberIn<'done', typeof grouped>['__typename']
>().toEqualTypeOf<'WorkflowActionCompleted'>();
const groupedState = grouped.getState();
if (groupedState.phase === 'refused') {
  // Each name can be compared, and a `switch` over all of them is complete.
  switch (groupedState.member.__typename) {
    case 'LedgerFailed':
    case 'LedgerNotPermitted':
      break;
    case 'LedgerNoMoreInvoices':
      expectTypeOf(groupedState.member.message).toEqualTypeOf<string | null>();
      break;
    default:
      expectTypeOf(groupedState.member).toBeNever();
  }
}

// By hand, with any name.
type Loose = { workflowAction?: { __typename: string; message?: string | null } | null };
const loose = createWrite({ ...restart, send: async (): Promise<{ data?: Loose | null }> => ({}) });
expectTypeOf<MemberIn<'refused', typeof loose>['message']>().toEqualTypeOf<
  string | null | undefined
>();
expectTypeOf<MemberIn<'done', typeof loose>['__typename']>().toBeString();

// Relay: read-only, and with a member for names that the page does not know.
type RelayResponse = {
  readonly workflowAction:
    | { readonly __typename: 'WorkflowActionCompleted' }
    | { readonly __typename: 'LedgerNotPermitted'; readonly message: string | null | undefined }
    | { readonly __typename: '%other' }
    | null
    | undefined;
};
const relay = createWrite({
  ...restart,
  send: async (): Promise<AnyResult<RelayResponse>> => ({}),
});
expectTypeOf<
  MemberIn<'refused', typeof relay>['__typename']
>().toEqualTypeOf<'LedgerNotPermitted'>();
expectTypeOf<
  MemberIn<'done', typeof relay>['__typename']
>().toEqualTypeOf<'WorkflowActionCompleted'>();

// gql.tada: the members of an interface one by one.
type TadaData = {
  __typename?: 'Mutation';
  workflowAction:
    | { __typename: 'LedgerFailed'; message: string | null }
    | { __typename: 'LedgerOutcomeUnknown'; message: string | null; code: 'ORPHANED' }
    | { __typename: 'WorkflowActionCompleted' }
    | null;
};
const tada = createWrite({ ...restart, send: async () => ({ data: {} as TadaData | undefined }) });
expectTypeOf<MemberIn<'refused', typeof tada>['message']>().toEqualTypeOf<string | null>();

// A result, or what a client throws.
const caught = createWrite({
  ...restart,
  send: async () => {
    const sent: Promise<{ data: Grouped }> = Promise.reject();
    return sent.catch((error: unknown) => ({ error }));
  },
});
expectTypeOf<MemberIn<'refused', typeof caught>['__typename']>().toEqualTypeOf<Refusals>();

// The type arguments of 1.0.0, and functions around `createWrite` and `useWrite`.
type Save = { __typename: 'ApproversSaved' } | { __typename: 'LedgerFailed'; message: string };
const explicit = createWrite<'save', Save, { id: number }>({
  ...ledger,
  field: 'save',
  send: async () => ({}),
});
expectTypeOf(explicit).toEqualTypeOf<Write<Save, { id: number }>>();
const wrap = <Name extends string, Member extends Outcome, Variables>(
  options: WriteOptions<Name, Member, Variables>,
): Write<Member, Variables> => createWrite(options);
expectTypeOf(wrap<'save', Save, void>).returns.toEqualTypeOf<Write<Save, void>>();
const useWrapped = <Name extends string, Member extends Outcome, Variables>(
  options: WriteOptions<Name, Member, Variables>,
) => useWrite<Name, Member, Variables>(options);
expectTypeOf<
  MemberIn<'refused', ReturnType<typeof useWrapped<'save', Save, void>>>['message']
>().toBeString();

// What says nothing of a field.
createWrite({ ...restart, send: async () => ({ error: new Error() }) });
// @ts-expect-error: the document must select `__typename`.
createWrite({ ...restart, send: async () => ({ data: { workflowAction: { message: '' } } }) });

// A limit of a query is optional, and so are all of them.
expectTypeOf(retryQueries(fetch)).toEqualTypeOf<typeof fetch>();
