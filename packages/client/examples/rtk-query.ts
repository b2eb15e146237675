import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { configureStore } from '@reduxjs/toolkit';
import { createApi, fetchBaseQuery } from '@reduxjs/toolkit/query';
import { type RestartData, restartDocument } from './operation.ts';

export function createRestart(ledger: SettleOptions) {
  const api = createApi({
    baseQuery: fetchBaseQuery({
      baseUrl: `${ledger.url}`,
      fetchFn: createLedgerFetch(ledger),
      validateStatus: () => true,
    }),
    endpoints: (build) => ({
      restart: build.mutation<{ data?: RestartData }, Record<string, string>>({
        query: (headers) => ({
          url: '',
          method: 'POST',
          headers,
          body: { query: restartDocument },
        }),
      }),
    }),
  });
  const store = configureStore({
    reducer: { [api.reducerPath]: api.reducer },
    middleware: (defaults) => defaults().concat(api.middleware),
  });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    async send(headers) {
      const { data, error } = await store.dispatch(api.endpoints.restart.initiate(headers));
      return data ?? { error };
    },
  });
}
