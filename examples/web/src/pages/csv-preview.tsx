import type { CsvReading } from './read-csv.ts';

const format = new Intl.NumberFormat('en');

const separators: Readonly<Record<string, string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
  '|': 'vertical bar',
};

/** What was read in a file, before it is sent. */
export function CsvPreview({ reading }: { readonly reading: CsvReading & { kind: 'table' } }) {
  const { encoding, isGuess, separator, rows, columns, unevenRow, firstRows } = reading;
  const shownColumns = Math.max(0, ...firstRows.map(({ length }) => length));
  return (
    <section className="card preview" aria-label="What the file contains">
      <h2>What the file contains</h2>
      <dl>
        <div>
          <dt>Encoding</dt>
          <dd>{isGuess ? `${encoding}, assumed` : encoding}</dd>
        </div>
        <div>
          <dt>Separator</dt>
          <dd>{separator === undefined ? 'none' : (separators[separator] ?? separator)}</dd>
        </div>
        <div>
          <dt>Rows</dt>
          <dd>{format.format(rows)}</dd>
        </div>
        <div>
          <dt>Columns</dt>
          <dd>{format.format(columns)}</dd>
        </div>
      </dl>
      {isGuess && (
        <p className="warning">
          The file is not in UTF-8. If letters are wrong below, save it as “CSV UTF-8” and choose it
          again.
        </p>
      )}
      {unevenRow !== undefined && (
        <p className="warning">
          Row {format.format(unevenRow)} has another number of columns than the first row.
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
      <section className="scroll" aria-label="The first rows" tabIndex={0}>
        <table>
          <tbody>
            {firstRows.map((cells, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows do not change.
              <tr key={row}>
                <th scope="row">{row + 1}</th>
                {cells.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: cells do not change.
                  <td key={column} dir="auto">
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="hint">
        {(rows > firstRows.length || columns > shownColumns) &&
          `The first ${firstRows.length} rows and ${shownColumns} columns. `}
        The file is sent as it is.
      </p>
    </section>
  );
}
