import { useRef, useState } from 'react';
import type { Picks } from './code-rows.tsx';

type Props = {
  readonly picks: Picks;
  readonly onPick: (picks: Picks) => void;
};

/** What the user picked, from any page or search, for the invoice or spreadsheet where it is needed. */
export function PickedCodes({ picks, onPick }: Props) {
  const [told, setTold] = useState('');
  const heading = useRef<HTMLHeadingElement>(null);
  const numbers = [...picks.values()].map(({ code }) => code);

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(numbers.join('\n'));
      setTold(`Copied: ${numbers.join(', ')}`);
    } catch {
      setTold('The browser does not allow it. Please select the numbers and copy them.');
    }
  }

  /** The focus does not go with the button. */
  function clear(): void {
    heading.current?.focus();
    setTold('');
    onPick(new Map());
  }

  return (
    <section className="picked card" aria-label="Picked codes">
      <h2 ref={heading} tabIndex={-1}>
        {picks.size === 0
          ? 'No codes are picked'
          : `${picks.size} ${picks.size === 1 ? 'code is' : 'codes are'} picked`}
      </h2>
      {picks.size === 0 ? (
        <p className="hint">Picked codes stay here while you search and turn pages.</p>
      ) : (
        <>
          <ul>
            {[...picks].map(([key, { code, name }]) => (
              <li key={key}>
                <bdi>{code}</bdi> <bdi>{name}</bdi>
              </li>
            ))}
          </ul>
          <div className="actions">
            <button type="button" className="primary" onClick={() => void copy()}>
              Copy the numbers
            </button>
            <button type="button" onClick={clear}>
              Clear
            </button>
          </div>
        </>
      )}
      <p role="status">{told}</p>
    </section>
  );
}
