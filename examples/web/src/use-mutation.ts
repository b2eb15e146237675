import type { OperationVariables, TypedDocumentNode } from '@apollo/client';
import type { Outcome } from '@ledger-gateway/client';
import { useWrite } from '@ledger-gateway/client/react';
import { useLedger } from './ledger.ts';
import type { OnUploadProgress } from './links/upload-progress.ts';

/** A mutation with one root field, sent by Apollo Client. See `useWrite`. */
export function useMutation<
  D extends Record<Name, Outcome | null>,
  Variables extends OperationVariables,
  Name extends keyof D & string,
>(mutation: TypedDocumentNode<D, Variables>, field: Name, onUploadProgress?: OnUploadProgress) {
  const { client, options } = useLedger();
  return useWrite<Name, NonNullable<D[Name]>, Variables>({
    ...options,
    field,
    send: (headers, variables) =>
      client.mutate<D, OperationVariables>({
        mutation,
        variables,
        // An outcome is an event, and no data to cache.
        fetchPolicy: 'no-cache',
        errorPolicy: 'all',
        context: { headers, fetchOptions: { ...(onUploadProgress && { onUploadProgress }) } },
      }),
  });
}
