import { useEffect, useRef } from 'react';
import type { Notice } from '../notice.ts';
import { CopyButton } from './copy-button.tsx';

type Choice = { readonly label: string; readonly onClick: () => void };

type Props = {
  readonly notice: Notice;
  /** The button that can change something. */
  readonly offer?: Choice | undefined;
  /** The button that removes the notice. */
  readonly close?: Choice | undefined;
};

/** An outcome in words. It takes the focus, so that a screen reader reads it and the keyboard continues there. */
export function NoticeBox({ notice, offer, close }: Props) {
  const { tone, title, details, reference } = notice;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.closest('section')?.scrollIntoView({ block: 'nearest' });
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <section className={`notice ${tone}`} aria-label="Outcome">
      <h2 ref={heading} tabIndex={-1}>
        {title}
      </h2>
      {details.map((detail) => (
        <p key={detail} dir="auto">
          {detail}
        </p>
      ))}
      {reference !== undefined && (
        <div className="reference">
          Reference: <code>{reference}</code> <CopyButton text={reference} label="Copy" />
        </div>
      )}
      <div className="actions">
        {offer && (
          <button type="button" className="primary" onClick={offer.onClick}>
            {offer.label}
          </button>
        )}
        {close && (
          <button
            type="button"
            onClick={() => {
              focusHeading(heading.current);
              close.onClick();
            }}
          >
            {close.label}
          </button>
        )}
      </div>
    </section>
  );
}

/** The notice goes, and with it the focus. */
function focusHeading(notice: HTMLElement | null): void {
  notice?.closest('main > section')?.querySelector('h1')?.focus();
}
