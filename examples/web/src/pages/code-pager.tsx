import { type CodesPage, isFiltered } from './use-gl-codes.ts';

type Props = {
  readonly page: CodesPage;
  /** Shows the page that begins after this many codes. */
  readonly onSkip: (skip: number) => void;
};

const format = new Intl.NumberFormat('en');

/** Says which codes are shown, and turns the page. A button that can do nothing keeps the focus. */
export function CodePager({ page, onSkip }: Props) {
  const { skip, first } = page.variables;
  const isFirst = skip === 0;
  const isLast = skip + first >= page.totalCount;
  return (
    <nav className="pager" aria-label="Pages of codes">
      <p role="status">
        <Found page={page} />
      </p>
      <button
        type="button"
        aria-disabled={isFirst}
        onClick={() => !isFirst && onSkip(Math.max(0, skip - first))}
      >
        Previous
      </button>
      <button type="button" aria-disabled={isLast} onClick={() => !isLast && onSkip(skip + first)}>
        Next
      </button>
    </nav>
  );
}

function Found({ page: { codes, totalCount, countOfAll, variables } }: Pick<Props, 'page'>) {
  const { skip, search, codePrefix } = variables;
  if (totalCount === 0 && !isFiltered(variables)) {
    return 'The ledger has no codes for this project and system.';
  }
  const total = format.format(totalCount);
  const isOfAll = isFiltered(variables) && countOfAll !== undefined;
  return (
    <>
      {isOfAll
        ? `${total} of ${format.format(countOfAll)} codes`
        : `${total} ${totalCount === 1 ? 'code' : 'codes'}`}
      {search !== '' && (
        <>
          {' '}
          for “<bdi>{search}</bdi>”
        </>
      )}
      {codePrefix !== '' && (
        <>
          {' '}
          beginning with “<bdi>{codePrefix}</bdi>”
        </>
      )}
      {codes.length < totalCount &&
        `: ${format.format(skip + 1)} to ${format.format(skip + codes.length)}`}
    </>
  );
}
