import type { ApolloClient, TypedDocumentNode } from '@apollo/client';
import type { Outcome, SettleOptions } from '@ledger-gateway/client';
import { useWrite } from '@ledger-gateway/client/react';

type Variables = { approvers: { name: string }[] };
type Mutation = TypedDocumentNode<{ saveApprovers: Outcome | null }, Variables>;

export function useSaveApprovers(ledger: SettleOptions, client: ApolloClient, mutation: Mutation) {
  const policies = { errorPolicy: 'all', fetchPolicy: 'no-cache' } as const;
  const { state, submit, cancel, askAgain, dismiss } = useWrite({
    ...ledger,
    field: 'saveApprovers',
    send: (headers, variables: Variables) =>
      client.mutate({ mutation, variables, ...policies, context: { headers } }),
  });

  return { state, submit, cancel, askAgain, dismiss };
}
