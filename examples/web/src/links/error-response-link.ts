import { ServerError } from '@apollo/client/errors';
import { ApolloLink } from '@apollo/client/link';
import { catchError, of, throwError } from 'rxjs';

/**
 * Passes on the GraphQL errors of a response such as 401 or 503. Apollo Client reads them only from the media type
 * `application/graphql-response+json`. Some servers, and gateways in between, send them as `application/json`.
 */
export const errorResponseLink = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    catchError((reason: unknown) => {
      const errors = ServerError.is(reason) && readErrors(reason.bodyText);
      return errors ? of({ errors }) : throwError(() => reason);
    }),
  ),
);

function readErrors(text: string): NonNullable<ApolloLink.Result['errors']> | undefined {
  try {
    const body: unknown = JSON.parse(text);
    const isResponse = typeof body === 'object' && body !== null && 'errors' in body;
    return isResponse && Array.isArray(body.errors) ? body.errors : undefined;
  } catch {
    return undefined;
  }
}
