import { createLedgerFetch, readField } from '@ledger-gateway/client';

const url = 'http://127.0.0.1:4000/graphql';
const ledgerFetch = createLedgerFetch({ token });

/** Your sign-in. If it throws, nothing is sent. */
async function token() {
  const response = await fetch('http://127.0.0.1:4010/token');
  if (!response.ok) throw new Error('No token.');
  return response.text();
}

type Data = { workflowAction: { __typename: string; message?: string | null } };
const query = `mutation { workflowAction(action: RESTART) {
  __typename ... on LedgerStatus { message } ... on LedgerProblem { message }
} }`;
const headers = { 'content-type': 'application/json' };

const button = document.body.appendChild(document.createElement('button'));
const text = document.body.appendChild(document.createElement('p'));
button.textContent = 'Restart the workflow';
button.onclick = async () => {
  button.disabled = true;
  const body = JSON.stringify({ query });
  const response = await ledgerFetch(url, { method: 'POST', headers, body });
  const result = readField<Data, 'workflowAction'>(await response.json(), 'workflowAction');
  if (result.kind === 'member') {
    text.textContent = `${result.member.__typename}: ${result.member.message}`;
  } else if (result.kind === 'error') {
    text.textContent = `It was not done: ${result.error.code}`;
  } else {
    text.textContent = 'Nobody knows yet. Check in the ledger before you do it again.';
  }
  button.disabled = false;
};
