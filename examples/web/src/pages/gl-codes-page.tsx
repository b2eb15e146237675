import { type FormEvent, useId, useState } from 'react';
import { Field } from '../parts/field.tsx';
import { useFaultFocus } from '../parts/use-fault-focus.ts';
import { type CodeList, CodeResults } from './code-results.tsx';
import { integrationTargets, targetOf } from './integration-targets.ts';

/** Finds and picks general-ledger codes of a project. */
export function GlCodesPage() {
  const [system, setSystem] = useState('Email');
  const [systemFault, setSystemFault] = useState<string>();
  const systemsId = useId();
  const form = useFaultFocus(systemFault);
  const [project, setProject] = useState('');
  const [list, setList] = useState<CodeList>();
  const [times, setTimes] = useState(0);

  function show(event: FormEvent): void {
    event.preventDefault();
    const target = targetOf(system);
    setSystemFault(target === undefined ? 'Choose a system of the list.' : undefined);
    if (target === undefined) return;
    setList({ target, project: project.trim() });
    setTimes(times + 1); // Asks for the same list again, too.
  }

  return (
    <>
      <form ref={form} onSubmit={show}>
        <div className="columns">
          <Field label="System" hint="Type to search" fault={systemFault}>
            {(attributes) => (
              <>
                <input
                  {...attributes}
                  list={systemsId}
                  autoComplete="off"
                  value={system}
                  // The browser lists the systems that contain the text, so the next key has to replace it.
                  onFocus={(event) => event.target.select()}
                  onChange={(event) => setSystem(event.target.value)}
                />
                <datalist id={systemsId}>
                  {integrationTargets.map(({ target, label }) => (
                    <option key={target} value={label} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
          <Field label="Project" hint="For example north-plant">
            {(attributes) => (
              <input
                {...attributes}
                required
                value={project}
                onChange={(event) => setProject(event.target.value)}
              />
            )}
          </Field>
        </div>
        <div className="actions">
          <button type="submit" className="primary">
            Show codes
          </button>
        </div>
      </form>
      {/* A code of another list is not this one, even with the same number. */}
      {list && <CodeResults key={JSON.stringify(list)} list={list} times={times} />}
    </>
  );
}
