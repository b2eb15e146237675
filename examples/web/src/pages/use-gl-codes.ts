import { type FieldResult, readField } from '@ledger-gateway/client';
import { useEffect, useState } from 'react';
import { GlCodesDocument, type GlCodesQuery, type GlCodesQueryVariables } from '../gql/graphql.ts';
import { useLedger } from '../ledger.ts';

export type GlCodesMember = NonNullable<GlCodesQuery['glCodes']>;
type GlCodeList = Extract<GlCodesMember, { __typename: 'GlCodeList' }>;
export type GlCode = GlCodeList['codes'][number];

/** One page of codes, with the variables that it was asked with. */
export type CodesPage = Pick<GlCodeList, 'codes' | 'totalCount'> & {
  readonly variables: GlCodesQueryVariables;
  /** The number of codes without search and prefix, if it is known. */
  readonly countOfAll: number | undefined;
};

type State = {
  /** The latest result, once there is one. */
  readonly result?: FieldResult<GlCodesMember>;
  /** The last page, also from before a problem. */
  readonly page?: CodesPage | undefined;
};

/** Codes that say that this user may not see the list. */
const notPermitted = new Set(['UNAUTHENTICATED', 'FORBIDDEN']);

/** Whether a result says that this user may not see the list. */
export function isNotPermitted(result: FieldResult<GlCodesMember>): boolean {
  return result.kind === 'member'
    ? result.member.__typename === 'LedgerNotPermitted'
    : notPermitted.has(result.error.code);
}

/** Reads a page of codes, again whenever `variables` or `times` changes. A response that is late is dropped. */
export function useGlCodes(variables: GlCodesQueryVariables, times: number): State {
  const { client } = useLedger();
  const [state, setState] = useState<State>({});
  const id = JSON.stringify(variables);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `id` is the variables, and `times` asks again.
  useEffect(() => {
    const { signal, abort } = cancellation();
    setState(({ page }) => ({ page }));
    client
      .query({
        query: GlCodesDocument,
        variables,
        errorPolicy: 'all',
        fetchPolicy: 'no-cache',
        // The same query may still be in flight, and cancelled.
        context: { queryDeduplication: false, fetchOptions: { signal } },
      })
      .catch((error: unknown) => ({ data: undefined, error }))
      .then((response) => {
        if (signal.aborted) return;
        const result = readField<GlCodesQuery, 'glCodes'>(response, 'glCodes');
        setState(({ page }) => ({ result, page: nextPage(result, variables, page) }));
      });
    return abort;
  }, [client, id, times]);

  return state;
}

function cancellation() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

/** The page to show after a result. A problem does not replace it, unless it says that the user may not see it. */
function nextPage(
  result: FieldResult<GlCodesMember>,
  variables: GlCodesQueryVariables,
  last: CodesPage | undefined,
): CodesPage | undefined {
  if (result.kind !== 'member' || result.member.__typename !== 'GlCodeList') {
    return isNotPermitted(result) ? undefined : last;
  }
  const { codes, totalCount } = result.member;
  const isSameList = last?.variables.includeHide === variables.includeHide;
  const known = isSameList ? last?.countOfAll : undefined;
  const countOfAll = isFiltered(variables) ? known : totalCount;
  return { codes, totalCount, variables, countOfAll };
}

/** Whether only some of the codes of a list were asked for. */
export function isFiltered({ search, codePrefix }: GlCodesQueryVariables): boolean {
  return search !== '' || codePrefix !== '';
}
