import type { GlCode } from './use-gl-codes.ts';

/** The picked codes by their number. */
export type Picks = ReadonlyMap<string, GlCode>;

type Props = {
  readonly codes: readonly GlCode[];
  /** Whether other codes are being loaded. */
  readonly isBusy: boolean;
  readonly picks: Picks;
  readonly onPick: (picks: Picks) => void;
};

/** A page of codes, which can be picked. */
export function CodeRows({ codes, isBusy, picks, onPick }: Props) {
  function toggle(code: GlCode): void {
    if (code.code === null) return;
    const next = new Map(picks);
    if (!next.delete(code.code)) next.set(code.code, code);
    onPick(next);
  }

  return (
    <ul className="codes" aria-busy={isBusy}>
      {codes.map((code, index) => (
        // The ledger may send a number twice, or none.
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no state of its own.
        <li key={index}>
          <label className="check">
            <input
              type="checkbox"
              disabled={code.code === null}
              checked={code.code !== null && picks.has(code.code)}
              onChange={() => toggle(code)}
            />
            <span className="code">{code.code ?? 'no number'}</span>
            <span className="name">
              {code.name}
              {code.hide === 1 && <span className="hint"> (hidden)</span>}
            </span>
            <span className="value">{code.value}</span>
          </label>
        </li>
      ))}
    </ul>
  );
}
