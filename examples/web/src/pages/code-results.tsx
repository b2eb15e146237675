import type { FieldResult } from '@ledger-gateway/client';
import { useEffect, useState } from 'react';
import { GlCodeOrder, type GlCodesQueryVariables } from '../gql/graphql.ts';
import { describeError, describeProblem, type Notice, type Words } from '../notice.ts';
import { Field } from '../parts/field.tsx';
import { NoticeBox } from '../parts/notice-box.tsx';
import { CodePager } from './code-pager.tsx';
import { CodeRows, type Picks } from './code-rows.tsx';
import { PickedCodes } from './picked-codes.tsx';
import { useDebounced } from './use-debounced.ts';
import { type GlCodesMember, isNotPermitted, useGlCodes } from './use-gl-codes.ts';

const words: Words = {
  nothingDone: 'No codes were loaded.',
  toDo: 'list the codes',
  done: 'this is the complete list',
};

const fromBefore = 'These are the codes from the last time.';

const PAGE_SIZE = 20;

/** How long a user pauses before the text is searched, in milliseconds. */
const PAUSE_MS = 250;

export type CodeList = Pick<GlCodesQueryVariables, 'target' | 'project'>;

/** `times` counts how often the list was asked for. */
type Props = { readonly list: CodeList; readonly times: number };

/** The codes of a list, page by page, with a search and what the user picked. The gateway searches and cuts. */
export function CodeResults({ list, times }: Props) {
  const [text, setText] = useState('');
  const [prefix, setPrefix] = useState('');
  const [orderBy, setOrderBy] = useState<GlCodeOrder>(GlCodeOrder.SERVICE);
  const [includeHide, setIncludeHide] = useState(false);
  const [turned, setTurned] = useState({ filter: '', skip: 0 });
  const [retries, setRetries] = useState(0);
  const [picks, setPicks] = useState<Picks>(new Map());
  const search = useDebounced(text.trim(), PAUSE_MS);
  const codePrefix = useDebounced(prefix.trim(), PAUSE_MS);
  // With another filter or order, the pages are others, too.
  const filter = JSON.stringify([includeHide, search, codePrefix, orderBy]);
  const skip = turned.filter === filter ? turned.skip : 0;
  const variables = { ...list, includeHide, search, codePrefix, orderBy, skip, first: PAGE_SIZE };
  const { result, page } = useGlCodes(variables, times + retries);
  const isHidden = result !== undefined && isNotPermitted(result);
  useEffect(() => {
    if (isHidden) setPicks(new Map());
  }, [isHidden]);
  const notice = result && describe(result);
  return (
    <>
      <div className="outcome" aria-live="polite">
        {!result && !page && <p>Loading the codes…</p>}
        {notice && (
          <NoticeBox
            notice={page ? { ...notice, details: [...notice.details, fromBefore] } : notice}
            offer={
              mayPass(result)
                ? { label: 'Try again', onClick: () => setRetries(retries + 1) }
                : undefined
            }
          />
        )}
      </div>
      {page && (
        <section aria-label="Codes">
          <div className="filters">
            <Field label="Search" hint="Words of the number, name or value">
              {(attributes) => (
                <input
                  {...attributes}
                  type="search"
                  maxLength={100}
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                />
              )}
            </Field>
            <Field label="Number begins with" hint="For example 44">
              {(attributes) => (
                <input
                  {...attributes}
                  maxLength={100}
                  autoComplete="off"
                  value={prefix}
                  onChange={(event) => setPrefix(event.target.value)}
                />
              )}
            </Field>
            <Field label="Sort by">
              {(attributes) => (
                <select
                  {...attributes}
                  value={orderBy}
                  onChange={({ target }) => setOrderBy(orderOf(target.value))}
                >
                  {orders.map(({ order, label }) => (
                    <option key={order} value={order}>
                      {label}
                    </option>
                  ))}
                </select>
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
          <CodePager page={page} onSkip={(next) => setTurned({ filter, skip: next })} />
          <CodeRows page={page} isBusy={!result} picks={picks} onPick={setPicks} />
          <PickedCodes picks={picks} onPick={setPicks} />
        </section>
      )}
    </>
  );
}

const orders = [
  { order: GlCodeOrder.SERVICE, label: 'As listed' },
  { order: GlCodeOrder.CODE, label: 'Number' },
  { order: GlCodeOrder.NAME, label: 'Name' },
];

function orderOf(value: string): GlCodeOrder {
  return orders.find(({ order }) => order === value)?.order ?? GlCodeOrder.SERVICE;
}

/** Whether the same question may have another answer later. */
function mayPass(result: FieldResult<GlCodesMember>): boolean {
  return !isNotPermitted(result) && !(result.kind === 'error' && result.error.faults.length > 0);
}

/** The problem of a result, unless it is a list. */
function describe(result: FieldResult<GlCodesMember>): Notice | undefined {
  if (result.kind !== 'member') return describeError(result.error, words);
  const { member } = result;
  switch (member.__typename) {
    case 'GlCodeList':
      return undefined;
    case 'LedgerFailed':
    case 'LedgerNotPermitted':
    case 'LedgerNoMoreInvoices':
    case 'LedgerUnrecognizedStatus':
      return describeProblem(member, words);
    default:
      return describeProblem(member satisfies never, words);
  }
}
