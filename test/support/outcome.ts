import { expect } from '@jest/globals';
import { startTestGateway } from './gateway.ts';
import { read, writes } from './graphql-operation.ts';

type Outcome = { __typename?: string; code: string; retryable?: boolean };

/** A problem type, with the fields in which it differs from others. */
type Problem = { __typename: string; status?: number | null };

/** The problem for a status of the service, as its JSON text. */
export const problemOfStatus: [status: string, problem: Problem][] = [
  ['1', { __typename: 'LedgerFailed' }],
  ['2', { __typename: 'LedgerNoMoreInvoices' }],
  ['3', { __typename: 'LedgerNotPermitted' }],
  ['7', { __typename: 'LedgerUnrecognizedStatus', status: 7 }],
  ['-1', { __typename: 'LedgerUnrecognizedStatus', status: -1 }],
  ['2147483648', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['"0"', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['1.5', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['null', { __typename: 'LedgerUnrecognizedStatus', status: null }],
];

/** A write that may have been sent and whose response was lost. */
export const unknown = (code: string): Outcome => ({ __typename: 'LedgerOutcomeUnknown', code });

/** An error after which the same request may be repeated. */
export const retryable = (code: string): Outcome => ({ code, retryable: true });

/** Starts a gateway whose calls all fail, and reports how. */
export async function startOutcomes(url: string, timeoutMs = 5000) {
  const gateway = await startTestGateway({ url }, { UPSTREAM_TIMEOUT_MS: String(timeoutMs) });
  const send = async (query: string): Promise<Outcome> => {
    const { data, errors } = await gateway.graphql(query);
    if (!errors) return { __typename: data.result.__typename, code: data.result.code };
    expect(errors).toHaveLength(1);
    expect(data).toEqual({ result: null });
    const { code = '', retryable = false } = errors[0]?.extensions ?? {};
    return { code, retryable };
  };
  return {
    read: () => send(read),
    write: (field = writes.upgradeToHQ) => send(`mutation { result: ${field} }`),
  };
}
