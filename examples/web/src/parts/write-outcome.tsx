import { type ReactNode, useEffect } from 'react';
import { describeLost, describeRefusal, type Notice, type Words } from '../notice.ts';
import type { WriteState } from '../use-write.ts';
import { NoticeBox } from './notice-box.tsx';

type Props<Member> = {
  readonly state: WriteState<Member>;
  readonly words: Words;
  /** The words for each member of the union. */
  readonly describe: (member: Member) => Notice;
  readonly onDismiss: () => void;
  /** What to show while the request is sent, instead of the usual text. */
  readonly sending?: ReactNode;
};

/** The state of a write: that it is being sent, or what became of it. */
export function WriteOutcome<Member>({
  state,
  words,
  describe,
  onDismiss,
  sending,
}: Props<Member>) {
  const isSending = state.phase === 'sending';
  const isLost = isSending || (state.phase === 'settled' && state.result.kind === 'lost');
  // The key is gone with the tab, and with it the way to ask again.
  useEffect(() => {
    if (!isLost) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isLost]);

  return (
    <div aria-live="polite">
      {isSending && (
        <>
          {sending ?? <p className="sending">Sending…</p>}
          {state.repeats > 0 && (
            <p className="sending">
              No answer yet. We are asking what became of it, without doing it again.
            </p>
          )}
        </>
      )}
      {state.phase === 'settled' && (
        <NoticeBox
          notice={withTime(toNotice(state, words, describe), state.askedAt)}
          onAskAgain={state.askAgain}
          onDismiss={onDismiss}
        />
      )}
    </div>
  );
}

function toNotice<Member>(
  { result, askAgain }: Extract<WriteState<Member>, { phase: 'settled' }>,
  words: Words,
  describe: (member: Member) => Notice,
): Notice {
  switch (result.kind) {
    case 'member':
      return describe(result.member);
    case 'refused':
      return describeRefusal(result.refusal, words);
    case 'lost':
      return describeLost(words, askAgain !== undefined);
    default:
      throw new Error(result satisfies never);
  }
}

/** Adds when the user asked last. Otherwise, the same answer again looks as if nothing happened. */
function withTime(notice: Notice, askedAt: Date | undefined): Notice {
  if (notice.askAgain === undefined || askedAt === undefined) return notice;
  return {
    ...notice,
    details: [...notice.details, `Last asked at ${askedAt.toLocaleTimeString()}.`],
  };
}
