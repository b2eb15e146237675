import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import axios from 'axios';
import { type RestartData, restartDocument } from './operation.ts';

export function createRestart(ledger: SettleOptions) {
  const client = axios.create({
    adapter: 'fetch',
    env: { fetch: createLedgerFetch(ledger) },
    validateStatus: null,
  });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    async send(headers): Promise<{ data?: RestartData }> {
      const body = { query: restartDocument };
      return (await client.post(`${ledger.url}`, body, { headers })).data;
    },
  });
}
