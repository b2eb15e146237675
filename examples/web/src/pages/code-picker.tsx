import { useDeferredValue, useMemo, useState } from 'react';
import { Field } from '../parts/field.tsx';
import type { GlCode } from './use-gl-codes.ts';

/** More rows would be slow to render, and nobody reads them. */
const SHOWN_ROWS = 100;

export type PickProps = {
  /** The numbers of the picked codes. */
  readonly picked: ReadonlySet<string>;
  readonly onPick: (picked: ReadonlySet<string>) => void;
};

/** A list of codes with a search. The search is fast with thousands of codes, because few are rendered. */
export function CodePicker({ codes, picked, onPick }: PickProps & { codes: readonly GlCode[] }) {
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search);
  const rows = useMemo(
    () => codes.map((code, index) => ({ id: code.code ?? `#${index}`, code, text: textOf(code) })),
    [codes],
  );
  const found = useMemo(() => {
    const terms = wanted.toLowerCase().split(/\s+/);
    return rows.filter(({ text }) => terms.every((term) => text.includes(term)));
  }, [rows, wanted]);

  function toggle(id: string): void {
    const next = new Set(picked);
    if (!next.delete(id)) next.add(id);
    onPick(next);
  }

  return (
    <section aria-label="Codes">
      <Field label="Search in the list" hint="Number, name or value">
        {(attributes) => (
          <input
            {...attributes}
            type="search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
      </Field>
      <p role="status">
        {found.length > SHOWN_ROWS
          ? `${SHOWN_ROWS} of ${found.length} codes are shown. Search to see others.`
          : `${found.length} ${found.length === 1 ? 'code' : 'codes'}`}
      </p>
      <ul className="codes">
        {found.slice(0, SHOWN_ROWS).map(({ id, code }) => (
          <li key={id}>
            <label className="check">
              <input type="checkbox" checked={picked.has(id)} onChange={() => toggle(id)} />
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
      <p className="picked" role="status">
        {picked.size === 0 ? 'No codes are picked.' : `Picked: ${[...picked].join(', ')}`}
      </p>
      <div className="actions">
        <button
          type="button"
          disabled={picked.size === 0}
          onClick={() => void navigator.clipboard.writeText([...picked].join('\n'))}
        >
          Copy the picked numbers
        </button>
      </div>
    </section>
  );
}

function textOf({ code, name, value }: GlCode): string {
  return [code, name, value].join(' ').toLowerCase();
}
