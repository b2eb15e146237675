import type { Refusal } from './field-result.ts';
import type { LedgerOutcomeUnknownCode } from './gql/graphql.ts';

/** What the app tells the user about an outcome. */
export type Notice = {
  readonly tone: 'success' | 'problem' | 'warning';
  readonly title: string;
  readonly details: readonly string[];
  /** The offer to ask again, if that can help. */
  readonly askAgain?: string;
};

/** How a page talks about its operation. */
export type Words = {
  /** Such as "Nothing was saved." */
  readonly nothingDone: string;
  /** Such as "save the approvers", after "The ledger could not". */
  readonly toDo: string;
  /** Such as "the approvers were saved", after "We could not learn whether". */
  readonly done: string;
};

/** The union members that several operations share. */
type Problem =
  | {
      readonly __typename:
        | 'LedgerFailed'
        | 'LedgerNotPermitted'
        | 'LedgerNoMoreInvoices'
        | 'LedgerUnrecognizedStatus';
      readonly message: string | null;
    }
  | {
      readonly __typename: 'LedgerOutcomeUnknown';
      readonly code: LedgerOutcomeUnknownCode;
      readonly requestId: string;
    };

/** Describes a problem. Every member has a case, or this function does not compile. */
export function describeProblem(problem: Problem, words: Words): Notice {
  switch (problem.__typename) {
    case 'LedgerFailed':
      return {
        tone: 'problem',
        title: `The ledger could not ${words.toDo}.`,
        details: [words.nothingDone, ...quote(problem.message)],
      };
    case 'LedgerNotPermitted':
      return {
        tone: 'problem',
        title: `You are not permitted to ${words.toDo}.`,
        details: [words.nothingDone, ...quote(problem.message)],
      };
    case 'LedgerNoMoreInvoices':
      return {
        tone: 'problem',
        title: 'There are no more invoices.',
        details: quote(problem.message),
      };
    case 'LedgerUnrecognizedStatus':
      return {
        tone: 'warning',
        title: 'The ledger gave an answer that we do not understand.',
        details: [
          `It is not clear whether ${words.done}. Please check in the ledger before you try again.`,
          ...quote(problem.message),
        ],
      };
    case 'LedgerOutcomeUnknown':
      return describeUnknown(problem.code, problem.requestId, words);
    default:
      problem satisfies never;
      return unexpectedAnswer(words);
  }
}

function describeUnknown(code: LedgerOutcomeUnknownCode, requestId: string, words: Words): Notice {
  const title = `We could not learn whether ${words.done}.`;
  const check = 'Please check in the ledger before you do it again.';
  const askAgain = 'Ask again';
  const because = (reason: string): Notice => ({
    tone: 'warning',
    title,
    details: [`${reason} The request was not repeated.`, check, `Reference: ${requestId}`],
    askAgain,
  });
  switch (code) {
    case 'UPSTREAM_FAILED':
      return because('The ledger reported a fault of its own.');
    case 'UPSTREAM_TIMEOUT':
      return because('The ledger did not answer in time.');
    case 'UPSTREAM_UNAVAILABLE':
      return because('The connection to the ledger broke before it answered.');
    case 'UPSTREAM_INVALID_RESPONSE':
      return because('The answer of the ledger was damaged.');
    case 'ORPHANED':
      return because('The answer of the ledger was lost.');
    case 'IN_PROGRESS':
      return {
        tone: 'warning',
        title: 'The ledger is still working on it.',
        details: [
          'Ask again in a moment. Asking does not start it a second time.',
          `Reference: ${requestId}`,
        ],
        askAgain,
      };
    default:
      code satisfies never;
      return because('We do not know why.');
  }
}

/** An answer from a newer gateway, which this version of the app does not know. */
function unexpectedAnswer({ done }: Words): Notice {
  return {
    tone: 'warning',
    title: 'The gateway gave an answer that this app does not know.',
    details: [`It is not clear whether ${done}. Please reload the page and check in the ledger.`],
  };
}

/** No response arrived that settles the matter, in spite of repeats, or the page was left before. */
export function describeLost({ done }: Words, canAskAgain: boolean): Notice {
  const title = `We do not know yet whether ${done}.`;
  return canAskAgain
    ? {
        tone: 'warning',
        title,
        details: [
          'No answer has arrived.',
          'You can safely ask again: it is not done a second time.',
        ],
        askAgain: 'Ask again',
      }
    : {
        tone: 'warning',
        title,
        details: [
          'The page was left before the answer arrived, and can no longer ask.',
          'Please check in the ledger before you do it again.',
        ],
      };
}

/** The request did nothing. The codes are those of the gateway, which may add more. */
export function describeRefusal(refusal: Refusal, { nothingDone, toDo }: Words): Notice {
  const { code, requestId, retryable, faults } = refusal;
  const details = requestId === undefined ? [] : [`Reference: ${requestId}`];
  const problem = (title: string): Notice => ({
    tone: 'problem',
    title,
    details: [nothingDone, ...details],
    ...(retryable && { askAgain: 'Try again' }),
  });
  switch (code) {
    case 'BAD_USER_INPUT':
      return {
        tone: 'problem',
        title: 'Something needs a correction.',
        details: [
          nothingDone,
          // The fault of a whole argument has no field of its own.
          ...faults.flatMap(({ path, message }) =>
            path.length === 1 ? [`${path[0]}: ${message}`] : [],
          ),
          ...(faults.length > 0 ? ['Please correct the marked fields.'] : details),
        ],
      };
    case 'UNAUTHENTICATED':
      return problem('You are not signed in.');
    case 'FORBIDDEN':
      return problem(`You are not permitted to ${toDo}.`);
    case 'UPSTREAM_BAD_REQUEST':
      return problem('The ledger did not accept the request.');
    case 'UPSTREAM_FAILED':
    case 'UPSTREAM_TIMEOUT':
    case 'UPSTREAM_UNAVAILABLE':
    case 'UPSTREAM_INVALID_RESPONSE':
      return problem('The ledger cannot be reached at the moment.');
    case 'AUTH_UNAVAILABLE':
    case 'OVERLOADED':
    case 'UPSTREAM_BUSY':
      return problem('There is too much to do at the moment.');
    case 'PAYLOAD_TOO_LARGE':
      return problem('This is too large to send.');
    case 'NOT_REACHED':
      return problem('There is no connection.');
    default:
      return problem('Something went wrong.');
  }
}

/** The ledger's own words, if there are any. */
export function quote(message: string | null): string[] {
  return message === null || message === '' ? [] : [`The ledger says: “${message}”`];
}
