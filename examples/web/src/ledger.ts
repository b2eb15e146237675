import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { ApolloLink } from '@apollo/client/link';
import { createLedgerFetch } from '@ledger-gateway/client';
import { possibleTypes } from '@ledger-gateway/client/possible-types';
import { createContext, useContext } from 'react';
import { loseResponses } from './links/lose-responses.ts';
import { createTrustedDocumentLink } from './links/trusted-document-link.ts';
import { fetchWithProgress } from './links/upload-progress.ts';
import type { Session } from './session.ts';

export type LedgerOptions = {
  readonly gatewayUrl: string;
  readonly session: Session;
  /** Sends the hash of a document instead of its text. The gateway then needs the manifest. */
  readonly trustedDocuments: boolean;
};

export type Ledger = ReturnType<typeof createLedger>;

/** The gateway, as one user sees it. At sign-out, everything that it holds goes with it. */
export function createLedger({ gatewayUrl, session, trustedDocuments }: LedgerOptions) {
  const send = loseResponses(fetchWithProgress, () => session.losesResponses);
  const options = { url: gatewayUrl, token: session.token, fetch: send };
  const client = new ApolloClient({
    link: ApolloLink.from([
      ...(trustedDocuments ? [createTrustedDocumentLink()] : []),
      new HttpLink({ uri: gatewayUrl, fetch: createLedgerFetch(options) }),
    ]),
    cache: new InMemoryCache({ possibleTypes }),
  });
  return {
    client,
    /** The options of the client package. */
    options,
    /** The writes whose outcome is not known, by the id of their form. */
    openWrites: new Set<string>(),
  };
}

const LedgerContext = createContext<Ledger | undefined>(undefined);
export const LedgerProvider = LedgerContext.Provider;

export function useLedger(): Ledger {
  const ledger = useContext(LedgerContext);
  if (!ledger) throw new Error('There is no LedgerProvider.');
  return ledger;
}
