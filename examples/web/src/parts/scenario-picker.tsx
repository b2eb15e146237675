import { useEffect, useState } from 'react';
import type { Session } from '../session.ts';
import { Field } from './field.tsx';

/** What the service does in each situation. The names are those of the development setup. */
const words: Readonly<Record<string, string>> = {
  'lost-responses': 'The response is lost on its way to this page',
  failed: 'The ledger says: failed',
  'no-more-invoices': 'The ledger says: no more invoices',
  'not-permitted': 'The ledger says: not permitted',
  unrecognized: 'The ledger has an unknown status',
  'http-400': 'The ledger rejects the request (HTTP 400)',
  'http-401': 'The ledger rejects the sign-in (HTTP 401)',
  'http-403': 'The ledger forbids it (HTTP 403)',
  'http-500': 'The ledger fails (HTTP 500)',
  'http-503': 'The ledger is overloaded (HTTP 503)',
  slow: 'The ledger responds after 30 seconds',
  reset: 'The connection to the ledger breaks',
  'cut-off': 'The response of the ledger is cut off',
  'not-json': 'The response of the ledger cannot be read',
};

/** Selects what the development service simulates. An app for real users has no such part. */
export function ScenarioPicker({ session }: { readonly session: Session }) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    session.scenarios().then(setNames, () => setNames([]));
  }, [session]);
  if (names.length === 0) return null;
  return (
    <Field label="Practice" hint="For development: what happens to your next requests">
      {(attributes) => (
        <select {...attributes} onChange={(event) => session.simulate(event.target.value)}>
          <option value="">It works</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {words[name] ?? name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
