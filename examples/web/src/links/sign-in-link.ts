import { ApolloLink } from '@apollo/client/link';
import { defer, mergeMap, of } from 'rxjs';
import type { Session } from '../session.ts';

/**
 * Sends the token of the session. If the token is rejected, sends the operation once more with a new one. The
 * context of the operation stays, and with it the key of its intent.
 */
export function createSignInLink(session: Session): ApolloLink {
  return new ApolloLink((operation, forward) => {
    const sendWith = (token: string) => {
      operation.setContext(({ headers }) => ({
        headers: { ...headers, authorization: `Bearer ${token}` },
      }));
      return forward(operation);
    };
    return defer(() => session.token()).pipe(
      mergeMap(sendWith),
      mergeMap((result) =>
        isUnauthenticated(result)
          ? defer(() => session.renew()).pipe(mergeMap(sendWith))
          : of(result),
      ),
    );
  });
}

function isUnauthenticated({ errors = [] }: ApolloLink.Result): boolean {
  return errors.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED');
}
