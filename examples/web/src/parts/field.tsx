import { type ReactNode, useId } from 'react';

type Props = {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly fault?: string | undefined;
  /** The control. It gets the attributes that connect it to its label, hint and fault. */
  readonly children: (attributes: {
    id: string;
    /** Arabic and Hebrew are written from right to left. */
    dir: 'auto';
    'aria-describedby': string | undefined;
    'aria-invalid': boolean;
  }) => ReactNode;
};

/** A labelled control, with the fault of its value beside it. */
export function Field({ label, hint, fault, children }: Props) {
  const id = useId();
  const describedBy = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        dir: 'auto',
        'aria-describedby': describedBy === '' ? undefined : describedBy,
        'aria-invalid': fault !== undefined,
      })}
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault && (
        <p className="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}
