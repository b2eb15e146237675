import { isLocked, type Outcome, type Progress, type WriteState } from '@ledger-gateway/client';
import { type ReactNode, useEffect, useId, useState } from 'react';
import { useLedger } from '../ledger.ts';
import {
  describeError,
  describeForgotten,
  describeLost,
  type Notice,
  type Words,
} from '../notice.ts';
import { NoticeBox } from './notice-box.tsx';
import { Waiting } from './waiting.tsx';

type Props<Member extends Outcome> = {
  /** What `useWrite` returns. */
  readonly write: {
    readonly state: WriteState<Member>;
    readonly cancel: () => void;
    readonly askAgain: () => void;
    readonly dismiss: () => void;
  };
  readonly words: Words;
  /** The words for each member of the union. */
  readonly describe: (member: Member) => Notice;
  /** What to show while the request is sent, instead of the usual text. */
  readonly sending?: ReactNode;
};

/** Why a request takes longer. */
const waits: Readonly<Record<Progress['state'], string>> = {
  'not-sent': 'The ledger cannot take it at the moment. We keep trying.',
  offline: 'There is no connection. We continue when it is back.',
  'in-progress': 'The ledger has not answered yet.',
  lost: 'No answer yet. We are trying again; it is not done a second time.',
  settling: 'We are asking what became of it.',
};

/** The state of a write, below its form: that it is being sent, or what became of it. */
export function WriteOutcome<Member extends Outcome>({
  write: { state, cancel, askAgain, dismiss },
  words,
  describe,
  sending,
}: Props<Member>) {
  const [askedAt, setAskedAt] = useState<Date>();
  const isBusy = state.phase === 'sending' || state.phase === 'asking';
  // What may still be done is not forgotten.
  const mayDismiss = !isBusy && (state.phase !== 'unknown' || state.mayDismiss);
  useOpenWrite(!mayDismiss);
  const notice = toNotice(state, words, describe);

  return (
    <div className="outcome" aria-live="polite">
      {isBusy && (
        <Waiting onCancel={state.phase === 'sending' ? cancel : undefined}>
          {textWhile(state, sending)}
        </Waiting>
      )}
      {notice && (
        <NoticeBox
          notice={withTime(notice, askedAt)}
          offer={
            state.phase === 'unknown' && state.mayAsk
              ? {
                  label: 'Ask again',
                  onClick() {
                    setAskedAt(new Date());
                    askAgain();
                  },
                }
              : undefined
          }
          close={
            mayDismiss
              ? {
                  label: isLocked(state) ? 'I have checked in the ledger' : 'Close',
                  onClick() {
                    setAskedAt(undefined);
                    dismiss();
                  },
                }
              : undefined
          }
        />
      )}
    </div>
  );
}

/** What happens at the moment. */
function textWhile<Member extends Outcome>(
  state: WriteState<Member>,
  sending: ReactNode,
): ReactNode {
  if (state.phase !== 'sending') return <p>We are asking what became of it…</p>;
  if (state.wait === undefined) return sending ?? <p>Sending…</p>;
  return <p>{waits[state.wait]}</p>;
}

/** Before the page or the account is left, the user hears of a write that is open. */
function useOpenWrite(isOpen: boolean): void {
  const { openWrites } = useLedger();
  const id = useId();
  useEffect(() => {
    if (!isOpen) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    openWrites.add(id);
    return () => {
      removeEventListener('beforeunload', warn);
      openWrites.delete(id);
    };
  }, [isOpen, openWrites, id]);
}

function toNotice<Member extends Outcome>(
  state: WriteState<Member>,
  words: Words,
  describe: (member: Member) => Notice,
): Notice | undefined {
  switch (state.phase) {
    case 'idle':
    case 'sending':
    case 'asking':
      return undefined;
    case 'done':
    case 'refused':
      return describe(state.member);
    case 'failed':
      return describeError(state.error, words);
    case 'unknown':
      if (state.result.kind === 'member') return describe(state.result.member);
      return state.result.kind === 'lost'
        ? describeLost(words, state.mayAsk)
        : describeForgotten(words, state.result.error);
    default:
      throw new Error(state satisfies never);
  }
}

/** Adds when the user asked last. Otherwise, the same answer again looks as if nothing happened. */
function withTime(notice: Notice, askedAt: Date | undefined): Notice {
  if (askedAt === undefined) return notice;
  const time = `Last asked at ${askedAt.toLocaleTimeString()}.`;
  return { ...notice, details: [...notice.details, time] };
}
