import { Found } from './found.tsx';
import type { CodesPage, GlCode } from './use-gl-codes.ts';

/** The picked codes by `rowKey`. */
export type Picks = ReadonlyMap<string, GlCode>;

/** Tells rows apart, because the ledger may list a number twice. Rows that are alike in everything are the same. */
const rowKey = ({ code, name, value, hide }: GlCode) => JSON.stringify([code, name, value, hide]);

type Props = {
  readonly page: CodesPage;
  /** Whether other codes are being loaded. */
  readonly isBusy: boolean;
  readonly picks: Picks;
  readonly onPick: (picks: Picks) => void;
};

/** A page of codes, which can be picked. */
export function CodeRows({ page, isBusy, picks, onPick }: Props) {
  function toggle(code: GlCode): void {
    const next = new Map(picks);
    if (!next.delete(rowKey(code))) next.set(rowKey(code), code);
    onPick(next);
  }

  const { search, codePrefix } = page.variables;
  return (
    <ul className="codes" aria-busy={isBusy}>
      {page.codes.map((code, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no state of its own.
        <li key={index}>
          <label className="check">
            <input
              type="checkbox"
              disabled={!code.code}
              checked={picks.has(rowKey(code))}
              onChange={() => toggle(code)}
            />
            {code.code ? (
              <bdi className="code">
                <Found text={code.code} search={search} prefix={codePrefix} />
              </bdi>
            ) : (
              <span className="hint">no number</span>
            )}
            <bdi className="name">
              <Found text={code.name} search={search} />
              {code.hide === 1 && <span className="hint"> (hidden)</span>}
            </bdi>
            <bdi className="value">
              <Found text={code.value} search={search} />
            </bdi>
          </label>
        </li>
      ))}
    </ul>
  );
}
