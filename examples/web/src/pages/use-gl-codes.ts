import { type FieldResult, readField } from '@ledger-gateway/client';
import { useEffect, useState } from 'react';
import { GlCodesDocument, type GlCodesQuery, type GlCodesQueryVariables } from '../gql/graphql.ts';
import { useLedger } from '../ledger.ts';

export type GlCodesMember = NonNullable<GlCodesQuery['glCodes']>;
export type GlCode = Extract<GlCodesMember, { __typename: 'GlCodeList' }>['codes'][number];

/** Codes that say that this user may not see them. */
const notPermitted = new Set(['UNAUTHENTICATED', 'FORBIDDEN']);

/**
 * Reads the codes of a project. Keeps the last list: a problem does not replace it, unless it says that the user
 * may not see it.
 */
export function useGlCodes(variables: GlCodesQueryVariables) {
  const { client, codes } = useLedger();
  const [count, setCount] = useState(0);
  const [result, setResult] = useState<FieldResult<GlCodesMember>>();
  const id = JSON.stringify(variables);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `id` is the variables, and `count` asks again.
  useEffect(() => {
    let isCurrent = true;
    setResult(undefined);
    const options = { fetchPolicy: 'no-cache', errorPolicy: 'all' } as const;
    const finish = (data: object) => {
      const read = readField<GlCodesQuery, 'glCodes'>(data, 'glCodes');
      if (read.kind === 'member' && read.member.__typename === 'GlCodeList') {
        codes.set(id, read.member.codes);
      } else if (isNotPermitted(read)) {
        codes.clear();
      }
      if (isCurrent) setResult(read);
    };
    client
      .query({ query: GlCodesDocument, variables, ...options })
      .then(finish, (error: unknown) => finish({ error }));
    return () => {
      isCurrent = false;
    };
  }, [client, codes, id, count]);

  return {
    /** The latest result, once there is one. */
    result,
    /** The last list, also from before a problem. */
    list: codes.get(id),
    askAgain: () => setCount(count + 1),
  };
}

function isNotPermitted(result: FieldResult<GlCodesMember>): boolean {
  return result.kind === 'member'
    ? result.member.__typename === 'LedgerNotPermitted'
    : notPermitted.has(result.error.code);
}
