import { useState } from 'react';

/** Copies a text, and says so. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [told, setTold] = useState('');
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setTold('Copied');
    } catch {
      setTold('The browser does not allow it. Please select the text and copy it.');
    }
  }
  return (
    <>
      <button type="button" className="small" onClick={() => void copy()}>
        {label}
      </button>
      <span role="status" className="hint">
        {told}
      </span>
    </>
  );
}
