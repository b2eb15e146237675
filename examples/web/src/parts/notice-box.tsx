import { useEffect, useRef } from 'react';
import type { Notice } from '../notice.ts';

type Props = {
  readonly notice: Notice;
  readonly onAskAgain?: (() => void) | undefined;
  readonly onDismiss?: () => void;
};

/** An outcome in words. It takes the focus, so that a screen reader reads it and the keyboard continues there. */
export function NoticeBox({ notice, onAskAgain, onDismiss }: Props) {
  const { tone, title, details, askAgain } = notice;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className={`notice ${tone}`} aria-label="Outcome">
      <h2 ref={heading} tabIndex={-1}>
        {title}
      </h2>
      {details.map((detail) => (
        <p key={detail}>{detail}</p>
      ))}
      <div className="actions">
        {askAgain && onAskAgain && (
          <button type="button" className="primary" onClick={onAskAgain}>
            {askAgain}
          </button>
        )}
        {onDismiss && (
          <button type="button" onClick={onDismiss}>
            Close
          </button>
        )}
      </div>
    </section>
  );
}
