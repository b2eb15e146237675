import { type Fault, isLocked } from '@ledger-gateway/client';
import { type FormEvent, useEffect, useState } from 'react';
import { SaveApproversDocument, type SaveApproversMutation } from '../gql/graphql.ts';
import { describeProblem, type Notice, quote, type Words } from '../notice.ts';
import { useFaultFocus } from '../parts/use-fault-focus.ts';
import { WriteOutcome } from '../parts/write-outcome.tsx';
import { useDraft } from '../use-draft.ts';
import { useMutation } from '../use-mutation.ts';
import {
  type Draft,
  type FieldName,
  findFaults,
  newDraft,
  summaryOf,
  toInput,
} from './approver-fields.ts';
import { ApproverForm } from './approver-form.tsx';

const words: Words = {
  nothingDone: 'Nothing was saved.',
  toDo: 'save the approvers',
  done: 'the approvers were saved',
};

/** Edits and saves a list of approvers. */
export function ApproversPage() {
  const write = useMutation(SaveApproversDocument, 'saveApprovers');
  const { state, submit, dismiss } = write;
  const [drafts, setDrafts] = useDraft('approvers', () => [newDraft()]);
  const [sent, setSent] = useState(drafts);
  const [ownFaults, setOwnFaults] = useState<readonly Fault[]>([]);
  const form = useFaultFocus(ownFaults);
  const [focusOn, setFocusOn] = useState<number>();
  useEffect(() => {
    // The user continues in the approver that was added, or in the neighbour of the one that was removed.
    const approvers = form.current?.querySelectorAll('fieldset > fieldset') ?? [];
    if (focusOn !== undefined) approvers[focusOn]?.querySelector('input')?.focus();
    setFocusOn(undefined);
  }, [focusOn, form]);
  const faults =
    state.phase === 'failed'
      ? [...ownFaults, ...state.error.faults.filter(isOfSameValue)]
      : ownFaults;

  /** Whether the value that the gateway rejected is still in the form. */
  function isOfSameValue({ path: [, index, name] }: Fault): boolean {
    const valueIn = (list: readonly Draft[]) =>
      list[Number(index)]?.values[String(name) as FieldName];
    return valueIn(drafts) === valueIn(sent);
  }

  function save(event: FormEvent): void {
    event.preventDefault();
    const found = findFaults(drafts);
    setOwnFaults(found);
    if (found.length > 0) return;
    dismiss();
    setSent(drafts);
    submit({ approvers: drafts.map(toInput) });
  }

  function add(): void {
    setDrafts([...drafts, newDraft()]);
    setFocusOn(drafts.length);
  }

  /** Faults name an approver by its place in the list. */
  function remove(index: number): void {
    setDrafts(drafts.toSpliced(index, 1));
    setFocusOn(Math.min(index, drafts.length - 2));
    setOwnFaults([]);
    dismiss();
  }

  return (
    <form ref={form} onSubmit={save} noValidate>
      <fieldset className="plain" disabled={isLocked(state)}>
        {drafts.map((draft, index) => (
          <ApproverForm
            key={draft.id}
            index={index}
            draft={draft}
            faults={faults}
            onChange={(values) => setDrafts(drafts.with(index, { ...draft, values }))}
            onRemove={drafts.length > 1 ? () => remove(index) : undefined}
          />
        ))}
        <div className="actions">
          <button type="submit" className="primary">
            Save approvers
          </button>
          <button type="button" onClick={add}>
            Add an approver
          </button>
        </div>
      </fieldset>
      <WriteOutcome write={write} words={words} describe={(member) => describe(member, sent)} />
    </form>
  );
}

function describe(
  member: NonNullable<SaveApproversMutation['saveApprovers']>,
  sent: readonly Draft[],
): Notice {
  switch (member.__typename) {
    case 'ApproversSaved':
      return {
        tone: 'success',
        title: 'The approvers were saved.',
        details: [...sent.flatMap(summaryOf), ...quote(member.message)],
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
