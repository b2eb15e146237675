import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { ApolloLink } from '@apollo/client/link';
import { createLedgerFetch, type Intent, type Progress, settle } from '@ledger-gateway/client';
import { createContext, useContext } from 'react';
import possibleTypes from './gql/possible-types.ts';
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
  const { token } = session;
  const listeners = new Map<Intent, (progress: Progress) => void>();
  const ledgerFetch = createLedgerFetch({
    token,
    fetch: fetchWithProgress,
    onProgress: (progress) => listeners.get(progress.intent)?.(progress),
  });
  const client = new ApolloClient({
    link: ApolloLink.from([
      ...(trustedDocuments ? [createTrustedDocumentLink()] : []),
      new HttpLink({ uri: gatewayUrl, fetch: ledgerFetch }),
    ]),
    cache: new InMemoryCache(possibleTypes),
  });
  return {
    client,
    /** Who hears of the repeats of an intent. */
    listeners,
    /** Asks what became of an intent, without sending it again. */
    settle: <D extends object>(intent: Intent) => settle<D>(intent, { url: gatewayUrl, token }),
  };
}

const LedgerContext = createContext<Ledger | undefined>(undefined);
export const LedgerProvider = LedgerContext.Provider;

export function useLedger(): Ledger {
  const ledger = useContext(LedgerContext);
  if (!ledger) throw new Error('There is no LedgerProvider.');
  return ledger;
}
