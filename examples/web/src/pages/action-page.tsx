import { isLocked } from '@ledger-gateway/client';
import { useId, useRef } from 'react';
import {
  WorkflowAction,
  WorkflowActionDocument,
  type WorkflowActionMutation,
} from '../gql/graphql.ts';
import { describeProblem, type Notice, quote } from '../notice.ts';
import { WriteOutcome } from '../parts/write-outcome.tsx';
import { useDraft } from '../use-draft.ts';
import { useMutation } from '../use-mutation.ts';
import { actionNames, wordsOf, workflowActions } from './workflow-actions.ts';

/** Runs a workflow action, after a confirmation. */
export function ActionPage() {
  const write = useMutation(WorkflowActionDocument, 'workflowAction');
  const { state, submit, dismiss } = write;
  const [action, setAction] = useDraft<WorkflowAction>('action', () => WorkflowAction.RESTART);
  /** The action that the outcome is about. It may not be the one that is selected: a sign-out forgets both. */
  const [sent, setSent] = useDraft<WorkflowAction | null>('sent-action', () => null);
  const dialog = useRef<HTMLDialogElement>(null);
  const questionId = useId();

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        dismiss();
        dialog.current?.showModal();
      }}
    >
      <fieldset className="card" disabled={isLocked(state)}>
        <legend>Action</legend>
        <p className="hint">
          The request names only the action and the user who is signed in. The ledger decides which
          workflow, solution or account it is about.
        </p>
        {actionNames.map((name) => (
          <label className="check" key={name}>
            <input
              type="radio"
              name="action"
              checked={name === action}
              onChange={() => {
                dismiss();
                setAction(name);
              }}
            />
            {workflowActions[name].label}
          </label>
        ))}
        <div className="actions">
          <button type="submit" className="primary">
            Run…
          </button>
        </div>
      </fieldset>
      <WriteOutcome
        write={write}
        words={wordsOf(sent)}
        describe={(member) => describe(member, sent)}
      />
      <dialog ref={dialog} aria-labelledby={questionId}>
        <h2 id={questionId}>{workflowActions[action].label}?</h2>
        <p>
          {workflowActions[action].effect} The request does not name the{' '}
          {workflowActions[action].object}: the ledger decides which one it is. This page cannot
          undo it.
        </p>
        <div className="actions">
          {/* The dialog gives the focus to its first button: to press Enter twice does not run it. */}
          <button type="button" onClick={() => dialog.current?.close()}>
            No, go back
          </button>
          <button
            type="button"
            className="primary"
            onClick={() => {
              dialog.current?.close();
              setSent(action);
              submit({ action });
            }}
          >
            Yes, {workflowActions[action].toDo}
          </button>
        </div>
      </dialog>
    </form>
  );
}

function describe(
  member: NonNullable<WorkflowActionMutation['workflowAction']>,
  sent: WorkflowAction | null,
): Notice {
  const words = wordsOf(sent);
  switch (member.__typename) {
    case 'WorkflowActionCompleted':
      return {
        tone: 'success',
        title: workflowActions[member.action].success,
        details: [
          // The only part of the answer that says what the action was about.
          ...(member.invoiceId ? [`The ledger names invoice ${member.invoiceId}.`] : []),
          ...quote(member.message),
        ],
      };
    case 'LedgerFailed':
    case 'LedgerNotPermitted':
    case 'LedgerNoMoreInvoices':
    case 'LedgerUnrecognizedStatus':
    case 'LedgerOutcomeUnknown':
      return describeProblem(member, words);
    default:
      return describeProblem(member satisfies never, words);
  }
}
