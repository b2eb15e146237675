import { createLedgerFetch, createWrite, isLocked } from '@ledger-gateway/client';

const ledger = { url: 'http://127.0.0.1:4000/graphql', token };
const ledgerFetch = createLedgerFetch(ledger);

/** Your sign-in. If it throws, nothing is sent. */
async function token() {
  const response = await fetch('http://127.0.0.1:4010/token');
  if (!response.ok) throw new Error('No token.');
  return response.text();
}

type Member = { __typename: string; message?: string | null; code?: string };
type Result = { data?: { workflowAction?: Member | null } | null };
const query = `mutation { workflowAction(action: RESTART) {
  __typename ... on LedgerStatus { message } ... on LedgerProblem { message }
  ... on LedgerOutcomeUnknown { code }
} }`;
const json = { 'content-type': 'application/json' };
const body = JSON.stringify({ query });

const restart = createWrite({
  ...ledger,
  field: 'workflowAction',
  async send(headers): Promise<Result> {
    const init = { method: 'POST', headers: { ...json, ...headers }, body };
    return (await ledgerFetch(ledger.url, init)).json();
  },
});

const text = document.body.appendChild(document.createElement('p'));
function addButton(label: string, onclick: () => void) {
  const button = document.createElement('button');
  return document.body.appendChild(Object.assign(button, { textContent: label, onclick }));
}
const start = addButton('Restart the workflow', () => restart.submit());
const cancel = addButton('Cancel', restart.cancel);
const ask = addButton('Ask again', restart.askAgain);
const checked = addButton('I have checked in the ledger', restart.dismiss);

function show() {
  const state = restart.getState();
  start.disabled = isLocked(state);
  cancel.hidden = state.phase !== 'sending';
  ask.hidden = !(state.phase === 'unknown' && state.mayAsk);
  checked.hidden = !(state.phase === 'unknown' && state.mayDismiss);
  text.textContent = words();
}

function words() {
  const state = restart.getState();
  switch (state.phase) {
    case 'idle':
      return '';
    case 'sending':
      return `It is being sent. ${state.wait ?? ''}`;
    case 'asking':
      return 'We are asking what became of it.';
    case 'done':
      return 'The workflow was restarted.';
    case 'refused':
      return `The ledger said no: ${state.member.message}`;
    case 'failed':
      return `It was not done: ${state.error.code}`;
    case 'unknown':
      return state.mayDismiss
        ? 'It may have been done. Check in the ledger before you do it again.'
        : 'It is not known yet. Ask again: that does not repeat it.';
  }
}

restart.subscribe(show);
show();
