import { useEffect, useState } from 'react';
import type { Session } from '../session.ts';
import { Field } from './field.tsx';

/** Selects what the development service simulates. An app for real users has no such part. */
export function ScenarioPicker({ session }: { readonly session: Session }) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    session.scenarios().then(setNames, () => setNames([]));
  }, [session]);
  if (names.length === 0) return null;
  return (
    <Field label="Practice" hint="For development: what the service does with your next requests">
      {(attributes) => (
        <select {...attributes} onChange={(event) => session.simulate(event.target.value)}>
          <option value="">It works</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
