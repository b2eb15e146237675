import { createWrite } from '@ledger-gateway/client';
import { useWrite } from '@ledger-gateway/client/react';
import { expectTypeOf } from 'expect-type';
import * as avoidOptionals from './generated/avoid-optionals/graphql.ts';
import * as enumsAsTypes from './generated/enums-as-types/graphql.ts';
import * as immutable from './generated/immutable/graphql.ts';
import { getFragmentData } from './generated/masked/fragment-masking.ts';
import * as masked from './generated/masked/graphql.ts';
import * as nonOptionalTypename from './generated/non-optional-typename/graphql.ts';
import * as plain from './generated/plain/graphql.ts';
import * as strictScalars from './generated/strict-scalars/graphql.ts';
import { execute, ledger, type MemberIn, type PropertyIn, type Refusals } from './state.ts';

/*
 * With every common option of graphql-codegen's client preset, `createWrite` finds the members of its field. For example,
 * with `nonOptionalTypename`, the data of a mutation has a `__typename`, too.
 */

const restart = { ...ledger, field: 'workflowAction' } as const;

const writes = {
  avoidOptionals: createWrite({ ...restart, send: () => execute(avoidOptionals.RestartDocument) }),
  enumsAsTypes: createWrite({ ...restart, send: () => execute(enumsAsTypes.RestartDocument) }),
  immutable: createWrite({ ...restart, send: () => execute(immutable.RestartDocument) }),
  masked: createWrite({ ...restart, send: () => execute(masked.RestartDocument) }),
  nonOptionalTypename: createWrite({
    ...restart,
    send: () => execute(nonOptionalTypename.RestartDocument),
  }),
  plain: createWrite({ ...restart, send: () => execute(plain.RestartDocument) }),
  strictScalars: createWrite({ ...restart, send: () => execute(strictScalars.RestartDocument) }),
};

type Writes = typeof writes;
type All<Value> = { [Name in keyof Writes]: Value };

expectTypeOf<{
  [Name in keyof Writes]: PropertyIn<'done', Writes[Name], '__typename'>;
}>().toEqualTypeOf<All<'WorkflowActionCompleted'>>();

expectTypeOf<{
  [Name in keyof Writes]: PropertyIn<'refused', Writes[Name], '__typename'>;
}>().toEqualTypeOf<All<Refusals>>();

// What the first sample of the documentation shows.
expectTypeOf<{
  [Name in keyof Writes]: PropertyIn<'refused', Writes[Name], 'message'>;
}>().toEqualTypeOf<All<string | null>>();

// The fields of another root field are not those of this one.
const first = createWrite({
  ...restart,
  send: (_, approvers: nonOptionalTypename.ApproverInput[]) =>
    execute(nonOptionalTypename.RestartAndSaveDocument, { approvers }),
});
expectTypeOf<
  MemberIn<'done', typeof first>['__typename']
>().toEqualTypeOf<'WorkflowActionCompleted'>();
expectTypeOf(first.submit)
  .parameter(0)
  .extract<unknown[]>()
  .toEqualTypeOf<nonOptionalTypename.ApproverInput[]>();
const second = createWrite({
  ...ledger,
  field: 'saveApprovers',
  send: () => execute(plain.RestartAndSaveDocument, { approvers: [] }),
});
expectTypeOf<MemberIn<'done', typeof second>>().toEqualTypeOf<{
  __typename: 'ApproversSaved';
  message: string | null;
}>();

const hook = () =>
  useWrite({ ...restart, send: () => execute(nonOptionalTypename.RestartDocument) });
expectTypeOf<
  MemberIn<'refused', ReturnType<typeof hook>>['__typename']
>().toEqualTypeOf<Refusals>();

// With masked fragments, a member is passed to the function that reads a fragment.
const withFragment = createWrite({
  ...restart,
  send: () => execute(masked.RestartWithFragmentDocument),
});
const state = withFragment.getState();
if (state.phase === 'refused') {
  expectTypeOf(getFragmentData(masked.ProblemFragmentDoc, state.member).message).toEqualTypeOf<
    string | null
  >();
}

// A field that the mutation does not have.
// @ts-expect-error
createWrite({ ...ledger, field: 'workflow', send: () => execute(plain.RestartDocument) });
