import type { LedgerError } from '@ledger-gateway/client';
import type { LedgerOutcomeUnknownCode } from './gql/graphql.ts';

/** What the app tells the user about an outcome. */
export type Notice = {
  readonly tone: 'success' | 'problem' | 'warning';
  readonly title: string;
  readonly details: readonly string[];
  /** Identifies the request in the logs of the gateway. */
  readonly reference?: string | undefined;
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
        // The service does not say whether a part of a write was done.
        details: quote(problem.message),
      };
    case 'LedgerNotPermitted':
      return {
        tone: 'problem',
        title: `You are not permitted to ${words.toDo}.`,
        details: quote(problem.message),
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
  const because = (reason: string): Notice => ({
    tone: 'warning',
    title: `We could not learn whether ${words.done}.`,
    details: [reason, checkFirst],
    reference: requestId,
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
      return because('There is no record of an answer of the ledger. One may still be found.');
    case 'IN_PROGRESS':
      return {
        tone: 'warning',
        title: 'The ledger has not answered yet.',
        details: ['Ask again in a moment.'],
        reference: requestId,
      };
    default:
      code satisfies never;
      return because('We do not know why.');
  }
}

const checkFirst = 'Please check in the ledger before you do it again.';

/** An answer from a newer gateway, which this version of the app does not know. */
function unexpectedAnswer({ done }: Words): Notice {
  return {
    tone: 'warning',
    title: 'The gateway gave an answer that this app does not know.',
    details: [`It is not clear whether ${done}. Please reload the page and check in the ledger.`],
  };
}

/** The app has got no answer about it, and may be able to ask again. */
export function describeLost({ done }: Words, mayAsk: boolean): Notice {
  return {
    tone: 'warning',
    title: `We do not know yet whether ${done}.`,
    details: [mayAsk ? 'You can ask again: asking does not do it a second time.' : checkFirst],
  };
}

/** The gateway has no record: it may have lost it, or has not got the key of the write. */
export function describeForgotten({ done }: Words, { code, message }: LedgerError): Notice {
  const details = ['The answer was lost, and the gateway has no record of it.', checkFirst];
  return {
    tone: 'warning',
    title: `Nobody can say whether ${done}.`,
    // This message says what the operators have to change.
    details: code === 'KEY_NOT_CONFIRMED' ? [...details, message] : details,
  };
}

/** The field did nothing. The codes are those of the gateway, which may add more. */
export function describeError(error: LedgerError, { nothingDone, toDo }: Words): Notice {
  const { code, requestId: reference, faults } = error;
  const problem = (title: string): Notice => ({
    tone: 'problem',
    title,
    details: [nothingDone],
    reference,
  });
  switch (code) {
    case 'BAD_USER_INPUT':
      return {
        tone: 'problem',
        title: 'Something needs a correction.',
        details: [nothingDone, ...wordsOfFaults(faults)],
        ...(faults.length === 0 && { reference }),
      };
    case 'IDEMPOTENCY_KEY_SETTLED':
      return {
        tone: 'problem',
        title: nothingDone,
        details: ['It will not be done later either. You can do it again.'],
      };
    case 'OPERATION_STOPPED':
      return { tone: 'problem', title: nothingDone, details: [error.message], reference };
    case 'RATE_LIMITED':
      return problem('This was done too often in a short time. Please try again in a minute.');
    case 'OFFLINE':
      return problem('There is no connection.');
    case 'CANCELLED':
      return problem('It was cancelled before it was sent.');
    case 'SIGN_IN_FAILED':
      return problem('The sign-in cannot be reached at the moment.');
    case 'OTHER_USER':
      return problem('Another user has signed in.');
    case 'UNAUTHENTICATED':
      return problem('Your sign-in is not accepted.');
    case 'FORBIDDEN':
      return problem(`You are not permitted to ${toDo}.`);
    case 'UPSTREAM_BAD_REQUEST':
      return {
        ...problem('The ledger did not accept the request.'),
        details: [nothingDone, ...(faults.length > 0 ? wordsOfFaults(faults) : [error.message])],
      };
    case 'UPSTREAM_INVALID_RESPONSE':
      return {
        ...problem('The answer of the ledger cannot be used.'),
        // The message of the gateway names what the operators can change, such as the row that is wrong.
        details: [nothingDone, error.message],
      };
    case 'UPSTREAM_FAILED':
      return {
        ...problem('The ledger reported a fault of its own.'),
        details: [nothingDone, error.message], // With the words of the ledger, if it says why.
      };
    case 'UPSTREAM_TIMEOUT':
    case 'UPSTREAM_UNAVAILABLE':
    case 'HTTP_502':
    case 'HTTP_503':
    case 'HTTP_504':
      return problem('The ledger cannot be reached at the moment.');
    case 'AUTH_UNAVAILABLE':
    case 'OVERLOADED':
    case 'UPSTREAM_BUSY':
      return problem('There is too much to do at the moment.');
    case 'PAYLOAD_TOO_LARGE':
    case 'HTTP_413':
      return problem('This is too large to send.');
    case 'RESPONSE_LOST':
      return problem('There is no connection.');
    default:
      return problem(`Something went wrong (${code}).`);
  }
}

/** What is wrong with a request, besides what is shown beside the fields: a fault of a whole argument or approver has no field. */
function wordsOfFaults(faults: LedgerError['faults']): string[] {
  const others = faults.filter(({ path }) => path.length < 2 || typeof path.at(-1) === 'number');
  const words = others.map(({ path, message }) => {
    const place = path.map((step) => (typeof step === 'number' ? step + 1 : step)).join(' ');
    return place === '' ? message : `${place}: ${shortMessage(message)}`;
  });
  return others.length < faults.length ? [...words, 'Please correct the marked fields.'] : words;
}

/** The fault of a field in words, if it has one. */
export function faultOf(
  faults: LedgerError['faults'],
  path: readonly (string | number)[],
): string | undefined {
  const fault = faults.find((each) => each.path.join('.') === path.join('.'));
  return fault && shortMessage(fault.message);
}

/** The message of the gateway names the path. Beside the field, the user need not read it. */
function shortMessage(message: string): string {
  return message.replace(/^"[^"]*" /, 'This ');
}

/** Keeps a text that may be written from right to left apart from the text around it, as `<bdi>` does. */
const isolate = (text: string) => `\u2068${text}\u2069`;

/** The ledger's own words, if there are any. */
export function quote(message: string | null): string[] {
  return message === null || message === '' ? [] : [`The ledger says: “${isolate(message)}”`];
}
