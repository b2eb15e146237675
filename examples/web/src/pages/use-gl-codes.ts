import { useQuery } from '@apollo/client/react';
import { useEffect } from 'react';
import { GlCodesDocument, type GlCodesQuery, type GlCodesQueryVariables } from '../gql/graphql.ts';

export type GlCodesMember = NonNullable<GlCodesQuery['glCodes']>;
export type GlCode = Extract<GlCodesMember, { __typename: 'GlCodeList' }>['codes'][number];

/**
 * Reads the codes of a project. Only a list is written to the cache: a problem must neither replace the last
 * list nor be shown later, when it may be over.
 */
export function useGlCodes(variables: GlCodesQueryVariables) {
  const cached = useQuery(GlCodesDocument, { variables, fetchPolicy: 'cache-only' });
  const latest = useQuery(GlCodesDocument, {
    variables,
    fetchPolicy: 'no-cache',
    errorPolicy: 'all',
  });
  const { client } = cached;
  const { data, loading, error, refetch } = latest;

  useEffect(() => {
    if (data?.glCodes?.__typename === 'GlCodeList') {
      client.writeQuery({ query: GlCodesDocument, variables, data });
    }
  }, [client, variables, data]);

  return {
    /** The latest result, once there is one. */
    member: data?.glCodes ?? undefined,
    /** The last list, also from before a problem. */
    list: cached.data?.glCodes?.__typename === 'GlCodeList' ? cached.data.glCodes.codes : undefined,
    error,
    loading,
    askAgain: () => void refetch(),
  };
}
