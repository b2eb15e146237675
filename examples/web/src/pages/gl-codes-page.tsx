import { type FormEvent, useState } from 'react';
import { IntegrationTarget } from '../gql/graphql.ts';
import { Field } from '../parts/field.tsx';
import { type CodeList, CodeResults } from './code-results.tsx';
import { integrationTargets } from './integration-targets.ts';

/** Finds and picks general-ledger codes of a project. */
export function GlCodesPage() {
  const [target, setTarget] = useState<IntegrationTarget>(IntegrationTarget.EMAIL);
  const [project, setProject] = useState('');
  const [list, setList] = useState<CodeList>();
  const [times, setTimes] = useState(0);

  function show(event: FormEvent): void {
    event.preventDefault();
    setList({ target, project: project.trim() });
    setTimes(times + 1); // Asks for the same list again, too.
  }

  return (
    <>
      <form onSubmit={show}>
        <div className="columns">
          <Field label="System">
            {(attributes) => (
              <select
                {...attributes}
                value={target}
                onChange={({ target: { selectedIndex } }) =>
                  setTarget(integrationTargets[selectedIndex]?.target ?? target)
                }
              >
                {integrationTargets.map((entry) => (
                  <option key={entry.target} value={entry.target}>
                    {entry.label}
                  </option>
                ))}
              </select>
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
