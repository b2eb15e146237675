import { createLedgerFetch, createWrite, isLocked } from '@ledger-gateway/client';

const ledger = { url: 'http://127.0.0.1:4000/graphql', token };
const ledgerFetch = createLedgerFetch(ledger);

/** Replace this by your sign-in. */
async function token() {
  const response = await fetch('http://127.0.0.1:4010/token');
  if (!response.ok) throw new Error('No token.');
  return response.text();
}

const query = `mutation { workflowAction(action: RESTART) {
  __typename ... on LedgerStatus { message } ... on LedgerProblem { message }
  ... on LedgerOutcomeUnknown { code }
} }`;

const restart = createWrite({
  ...ledger,
  field: 'workflowAction',
  async send(headers) {
    const response = await ledgerFetch(ledger.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });
    return response.json();
  },
});

const element = (id) => document.getElementById(id);
element('restart').onclick = () => restart.submit();
element('cancel').onclick = restart.cancel;
element('ask').onclick = restart.askAgain;
element('checked').onclick = restart.dismiss;

restart.subscribe((state) => {
  element('status').textContent = textOf(state);
  element('restart').disabled = isLocked(state);
  element('cancel').hidden = state.phase !== 'sending';
  element('ask').hidden = !(state.phase === 'unknown' && state.mayAsk);
  element('checked').hidden = !(state.phase === 'unknown' && state.mayDismiss);
});

/** What the user reads in each of the seven states. */
function textOf(state) {
  switch (state.phase) {
    case 'idle':
      return 'The button is ready.';
    case 'sending':
      return 'The restart is being sent.';
    case 'asking':
      return 'We are asking what became of the restart.';
    case 'done':
      return 'The workflow was restarted.';
    case 'refused':
      return `The ledger refused the restart: ${state.member.message}`;
    case 'failed':
      return `The workflow was not restarted: ${state.error.code}`;
    case 'unknown':
      return state.mayDismiss
        ? 'The workflow may have been restarted. Check in the ledger before you do it again.'
        : 'It is not known yet whether the workflow was restarted. Asking again does not repeat it.';
  }
}
