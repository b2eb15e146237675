import { createLedgerFetch } from '@ledger-gateway/client';

export const ledger = { url: 'http://localhost:3000/graphql', token: () => 'token' };
export const ledgerFetch = createLedgerFetch(ledger);
