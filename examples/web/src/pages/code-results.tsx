import type { FieldResult } from '@ledger-gateway/client';
import type { GlCodesQueryVariables } from '../gql/graphql.ts';
import { describeError, describeProblem, type Notice, type Words } from '../notice.ts';
import { NoticeBox } from '../parts/notice-box.tsx';
import { CodePicker, type PickProps } from './code-picker.tsx';
import { type GlCodesMember, useGlCodes } from './use-gl-codes.ts';

const words: Words = {
  nothingDone: 'No codes were loaded.',
  toDo: 'list the codes',
  done: 'this is the complete list',
};

type Props = PickProps & { readonly query: GlCodesQueryVariables };

/** The codes that a query finds, or why there are none. */
export function CodeResults({ query, picked, onPick }: Props) {
  const { result, list, askAgain } = useGlCodes(query);
  const notice = result && describe(result);
  return (
    <>
      <div aria-live="polite">
        {!result && <p className="sending">Loading the codes…</p>}
        {notice && <NoticeBox notice={notice} offer={{ label: 'Try again', onClick: askAgain }} />}
        {notice && list && <p>These are the codes from the last time:</p>}
      </div>
      {list?.length === 0 && (
        <p role="status">The ledger has no codes for this project and system.</p>
      )}
      {list && list.length > 0 && <CodePicker codes={list} picked={picked} onPick={onPick} />}
    </>
  );
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
