import type { Fault } from '@ledger-gateway/client';
import { faultOf } from '../notice.ts';
import { Field } from '../parts/field.tsx';
import { type Draft, type FieldName, fields, names } from './approver-fields.ts';

type Props = {
  readonly index: number;
  readonly draft: Draft;
  readonly faults: readonly Fault[];
  readonly onChange: (values: Draft['values']) => void;
  readonly onRemove: (() => void) | undefined;
};

const common = names.filter((name) => fields[name].isCommon);
const others = names.filter((name) => !fields[name].isCommon);

/** The fields of one approver. */
export function ApproverForm({ index, draft, faults, onChange, onRemove }: Props) {
  const control = (name: FieldName) => (
    <ApproverField
      key={name}
      name={name}
      value={draft.values[name] ?? ''}
      fault={faultOf(faults, ['approvers', index, name])}
      onChange={(value) => onChange({ ...draft.values, [name]: value })}
    />
  );
  const othersHaveFaults = others.some((name) => faultOf(faults, ['approvers', index, name]));
  return (
    <fieldset className="card">
      <legend>Approver {index + 1}</legend>
      <div className="columns">{common.map(control)}</div>
      <details open={othersHaveFaults || undefined}>
        <summary>More fields</summary>
        <div className="columns">{others.map(control)}</div>
      </details>
      {onRemove && (
        <button type="button" onClick={onRemove}>
          Remove approver {index + 1}
        </button>
      )}
    </fieldset>
  );
}

type FieldProps = {
  readonly name: FieldName;
  readonly value: string;
  readonly fault: string | undefined;
  readonly onChange: (value: string) => void;
};

const inputModes = { number: 'decimal', integer: 'numeric', email: 'email', text: 'text' } as const;

function ApproverField({ name, value, fault, onChange }: FieldProps) {
  const { label, kind, hint } = fields[name];
  if (kind === 'check') {
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={value === 'on'}
          onChange={(event) => onChange(event.target.checked ? 'on' : '')}
        />
        {label}
      </label>
    );
  }
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(attributes) => (
        <input
          {...attributes}
          type={kind === 'email' ? 'email' : 'text'}
          inputMode={inputModes[kind]}
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
