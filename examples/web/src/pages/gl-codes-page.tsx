import { type FormEvent, useState } from 'react';
import { type GlCodesQueryVariables, IntegrationTarget } from '../gql/graphql.ts';
import { Field } from '../parts/field.tsx';
import { CodeResults } from './code-results.tsx';
import { integrationTargets } from './integration-targets.ts';

/** Picks general-ledger codes of a project. */
export function GlCodesPage() {
  const [target, setTarget] = useState<IntegrationTarget>(IntegrationTarget.EMAIL);
  const [project, setProject] = useState('');
  const [includeHide, setIncludeHide] = useState(false);
  const [query, setQuery] = useState<GlCodesQueryVariables>();
  const [count, setCount] = useState(0);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());

  function show(event: FormEvent): void {
    event.preventDefault();
    const next = { target, project: project.trim(), includeHide };
    // A code of another list is not this one, even with the same number.
    if (next.target !== query?.target || next.project !== query.project) setPicked(new Set());
    setQuery(next);
    setCount(count + 1); // Asks for the same list again, too.
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
        <label className="check">
          <input
            type="checkbox"
            checked={includeHide}
            onChange={(event) => setIncludeHide(event.target.checked)}
          />
          Include hidden codes
        </label>
        <div className="actions">
          <button type="submit" className="primary">
            Show codes
          </button>
        </div>
      </form>
      {query && <CodeResults key={count} query={query} picked={picked} onPick={setPicked} />}
    </>
  );
}
