import { type ReactNode, useEffect } from 'react';
import {
  describeError,
  describeForgotten,
  describeLost,
  type Notice,
  type Words,
} from '../notice.ts';
import { isOpen, type Outcome, type WriteState } from '../use-write.ts';
import { NoticeBox } from './notice-box.tsx';

type Props<Member extends Outcome> = {
  readonly state: WriteState<Member>;
  readonly words: Words;
  /** The words for each member of the union. */
  readonly describe: (member: Member) => Notice;
  readonly onDismiss: () => void;
  /** What to show while the request is sent, instead of the usual text. */
  readonly sending?: ReactNode;
};

type Sending = Extract<WriteState<unknown>, { phase: 'sending' }>;

/** Why a request takes longer. */
const waits: Readonly<Record<NonNullable<Sending['wait']>, string>> = {
  'not-sent': 'It is not sent yet: the ledger cannot take it at the moment. We keep trying.',
  offline: 'There is no connection. Nothing was sent since then; we continue when it is back.',
  'in-progress': 'The ledger is still working on it.',
  lost: 'No answer yet. We are trying again; it is not done a second time.',
  settling: 'No answer yet. We are asking what became of it.',
};

/** The state of a write: that it is being sent, or what became of it. */
export function WriteOutcome<Member extends Outcome>({
  state,
  words,
  describe,
  onDismiss,
  sending,
}: Props<Member>) {
  const isBusy = state.phase === 'sending' || state.phase === 'asking';
  const isLost = isBusy || (state.phase === 'settled' && state.result.kind === 'lost');
  // The intent is gone with the tab, and with it the way to ask again.
  useEffect(() => {
    if (!isLost) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isLost]);

  return (
    <div aria-live="polite">
      {state.phase === 'sending' && (
        <>
          {(state.wait === undefined && sending) || (
            <p className="sending">{state.wait ? waits[state.wait] : 'Sending…'}</p>
          )}
          <div className="actions">
            <button type="button" onClick={state.cancel}>
              Cancel
            </button>
          </div>
        </>
      )}
      {state.phase === 'asking' && <p className="sending">We are asking what became of it…</p>}
      {state.phase === 'settled' && (
        <NoticeBox
          notice={withTime(toNotice(state.result, words, describe), state.askedAt)}
          offer={state.askAgain && { label: 'Ask again', onClick: state.askAgain }}
          close={
            // What may still be done is not forgotten.
            state.result.kind === 'lost'
              ? undefined
              : {
                  label: isOpen(state) ? 'I have checked in the ledger' : 'Close',
                  onClick: onDismiss,
                }
          }
        />
      )}
    </div>
  );
}

function toNotice<Member>(
  result: Extract<WriteState<Member>, { phase: 'settled' }>['result'],
  words: Words,
  describe: (member: Member) => Notice,
): Notice {
  switch (result.kind) {
    case 'member':
      return describe(result.member);
    case 'error':
      return describeError(result.error, words);
    case 'lost':
      return describeLost(words);
    case 'unknown':
      return describeForgotten(words);
    default:
      throw new Error(result satisfies never);
  }
}

/** Adds when the user asked last. Otherwise, the same answer again looks as if nothing happened. */
function withTime(notice: Notice, askedAt: Date | undefined): Notice {
  if (askedAt === undefined) return notice;
  const time = `Last asked at ${askedAt.toLocaleTimeString()}.`;
  return { ...notice, details: [...notice.details, time] };
}
