type Props = {
  readonly label: string;
  readonly names: readonly string[];
  /** The index of the step that the user is in. */
  readonly current: number;
};

/** A picture of the steps of a page, and of the one that the user is in. */
export function Steps({ label, names, current }: Props) {
  return (
    <ol className="steps" aria-label={label}>
      {names.map((name, index) => (
        <li
          key={name}
          className={index < current ? 'done' : undefined}
          aria-current={index === current ? 'step' : undefined}
        >
          {name}
        </li>
      ))}
    </ol>
  );
}
