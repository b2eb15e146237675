import { isLocked } from '@ledger-gateway/client';
import { useWrite } from '@ledger-gateway/client/react';
import { restart, textOf } from './restart';

export function RestartButton() {
  const { state, submit, cancel, askAgain, dismiss } = useWrite(restart);
  const isUnknown = state.phase === 'unknown';
  return (
    <section>
      <button disabled={isLocked(state)} onClick={() => submit()}>
        Restart the workflow
      </button>
      <p role="status">{textOf(state)}</p>
      {state.phase === 'sending' && <button onClick={cancel}>Cancel</button>}
      {isUnknown && state.mayAsk && <button onClick={askAgain}>Ask again</button>}
      {isUnknown && state.mayDismiss && <button onClick={dismiss}>I have checked</button>}
    </section>
  );
}
