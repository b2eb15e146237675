import { createLedgerFetch, readField, settle } from '@ledger-gateway/client';

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

async function restart() {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ query });
  return (await ledgerFetch(url, { method: 'POST', headers, body })).json();
}

const button = document.body.appendChild(document.createElement('button'));
const text = document.body.appendChild(document.createElement('p'));
button.textContent = 'Restart the workflow';
let lost: string | undefined;
button.onclick = async () => {
  button.disabled = true;
  const response = lost ? await settle<Data>(lost, { url, token }) : await restart();
  const result = readField<Data, 'workflowAction'>(response, 'workflowAction');
  lost = result.kind === 'lost' ? result.intent : undefined;
  if (result.kind === 'member') {
    text.textContent = `${result.member.__typename}: ${result.member.message}`;
  } else if (result.kind === 'error') {
    text.textContent = `It was not done: ${result.error.code}`;
  } else if (result.kind === 'unknown') {
    text.textContent = 'Nobody can know. Check in the ledger before you do it again.';
  } else {
    text.textContent = 'It is not known yet.';
  }
  button.textContent = lost ? 'Ask again' : 'Restart the workflow';
  button.disabled = false;
};
