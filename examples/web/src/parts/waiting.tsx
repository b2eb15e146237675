import { type ReactNode, useEffect, useRef, useState } from 'react';

type Props = {
  /** Cancels the request. Undefined while the app asks what became of it. */
  readonly onCancel: (() => void) | undefined;
  /** What happens at the moment. */
  readonly children: ReactNode;
};

/** After this many seconds, the user sees the time and how long it can take at most. */
const LONG_S = 10;

/**
 * A request in flight. It takes the focus, because the form is locked: the keyboard continues at "Cancel", which is at the other
 * side than the button of the form, so that a double click does not cancel.
 */
export function Waiting({ onCancel, children }: Props) {
  const seconds = useSeconds();
  const box = useRef<HTMLDivElement>(null);
  const isSending = onCancel !== undefined;
  useEffect(() => {
    box.current?.scrollIntoView({ block: 'nearest' });
    const target = isSending ? 'button' : '[tabindex]';
    box.current?.querySelector<HTMLElement>(target)?.focus({ preventScroll: true });
  }, [isSending]);
  return (
    <div className="waiting" ref={box}>
      <div tabIndex={-1}>
        {children}
        {seconds >= LONG_S && (
          <p className="hint">
            {/* Without this role, a screen reader would read each second. */}
            <span role="timer">{seconds} seconds.</span> If no answer arrives, we stop trying after
            a while, and say what is known then.
          </p>
        )}
      </div>
      {onCancel && (
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      )}
    </div>
  );
}

/** The seconds since the component appeared. */
function useSeconds(): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const start = performance.now();
    const update = () => setSeconds(Math.floor((performance.now() - start) / 1000));
    const timer = setInterval(update, 1000);
    return () => clearInterval(timer);
  }, []);
  return seconds;
}
