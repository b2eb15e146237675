import { readRefusal } from '../field-result.ts';
import type { GlCodesQueryVariables } from '../gql/graphql.ts';
import { describeProblem, describeRefusal, type Notice, type Words } from '../notice.ts';
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
  const { member, list, error, loading, askAgain } = useGlCodes(query);
  const notice = member
    ? describe(member)
    : error && describeRefusal(readRefusal(error, 'glCodes').refusal, words);
  return (
    <>
      <div aria-live="polite">
        {loading && <p className="sending">Loading the codes…</p>}
        {!loading && notice && (
          <NoticeBox notice={{ ...notice, askAgain: 'Try again' }} onAskAgain={askAgain} />
        )}
        {!loading && notice && list && <p>These are the codes from the last time:</p>}
      </div>
      {list && <CodePicker codes={list} picked={picked} onPick={onPick} />}
    </>
  );
}

/** The problem of a result, unless it is a list. */
function describe(member: GlCodesMember): Notice | undefined {
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
