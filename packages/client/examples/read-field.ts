declare const session: { token(): Promise<string> };

import { createLedgerFetch, readField } from '@ledger-gateway/client';

const ledgerFetch = createLedgerFetch({ token: () => session.token() });

const response = await ledgerFetch('https://ledger.example.com/graphql', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    query: `mutation { workflowAction(action: RESTART) {
      __typename ... on LedgerProblem { message } ... on LedgerOutcomeUnknown { code requestId }
    } }`,
  }),
});
type Data = { workflowAction: { __typename: string } };
const result = readField<Data, 'workflowAction'>(await response.json(), 'workflowAction');
switch (result.kind) {
  case 'member': // an outcome, which may be LedgerOutcomeUnknown: switch over result.member.__typename
  case 'error': // nothing was done: result.error has code, faults and requestId
  case 'lost': // not known yet: call settle(result.intent, { url, token }), which asks what became of it
  case 'unknown': // nobody can know: check in the ledger before you do it again
}
