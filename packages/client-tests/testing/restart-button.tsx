import { isLocked } from '@ledger-gateway/client';
import { useWrite } from '@ledger-gateway/client/react';
import { ledger, ledgerFetch } from './ledger.ts';

type Result = {
  data?: { workflowAction?: { __typename: string; message?: string | null } | null } | null;
};
const query = `mutation { workflowAction(action: RESTART) {
  __typename ... on LedgerStatus { message } ... on LedgerProblem { message }
} }`;
const json = { 'content-type': 'application/json' };
const body = JSON.stringify({ query });

export function RestartButton() {
  const { state, submit, askAgain, dismiss } = useWrite({
    ...ledger,
    field: 'workflowAction',
    async send(headers): Promise<Result> {
      const init = { method: 'POST', headers: { ...json, ...headers }, body };
      return (await ledgerFetch(ledger.url, init)).json();
    },
  });
  const isUnknown = state.phase === 'unknown';
  return (
    <>
      <button type="button" disabled={isLocked(state)} onClick={() => submit()}>
        Restart
      </button>
      <p role="status">
        {state.phase}
        {state.phase === 'refused' && `: ${state.member.message}`}
        {state.phase === 'failed' && `: ${state.error.code}`}
      </p>
      {isUnknown && state.mayAsk && (
        <button type="button" onClick={askAgain}>
          Ask again
        </button>
      )}
      {isUnknown && state.mayDismiss && (
        <button type="button" onClick={dismiss}>
          I have checked
        </button>
      )}
    </>
  );
}
