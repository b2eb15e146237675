import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { ApolloLink } from '@apollo/client/link';
import possibleTypes from './gql/possible-types.ts';
import { errorResponseLink } from './links/error-response-link.ts';
import { createIdempotencyLink } from './links/idempotency-link.ts';
import { createSignInLink } from './links/sign-in-link.ts';
import { createTrustedDocumentLink } from './links/trusted-document-link.ts';
import { fetchWithProgress } from './links/upload-progress.ts';
import type { Session } from './session.ts';

export type ClientOptions = {
  readonly gatewayUrl: string;
  readonly session: Session;
  /** Sends the hash of a document instead of its text. The gateway then needs the manifest. */
  readonly trustedDocuments: boolean;
};

/** The GraphQL client of the app. The order of the links matters: a repeat keeps the key of its intent. */
export function createClient({ gatewayUrl, session, trustedDocuments }: ClientOptions) {
  return new ApolloClient({
    link: ApolloLink.from([
      createSignInLink(session),
      createIdempotencyLink(),
      ...(trustedDocuments ? [createTrustedDocumentLink()] : []),
      errorResponseLink,
      new HttpLink({ uri: gatewayUrl, fetch: fetchWithProgress }),
    ]),
    cache: new InMemoryCache({
      ...possibleTypes,
      typePolicies: {
        // A code has no identity of its own: it is a part of its list, and `code` may be null.
        GlCode: { keyFields: false },
      },
    }),
  });
}
