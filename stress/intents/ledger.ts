import type { ServerResponse } from 'node:http';
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { type Received, success } from '../../testkit/service.ts';
import { startService } from '../harness.ts';

type Respond = (response: ServerResponse, text: string, url: string) => unknown;

const succeed: Respond = (response, text, url) => {
  const isUpload = url === '/updateWorkflowCSV';
  response.end(JSON.stringify(isUpload ? { unresolved: text } : { status: 0, message: text }));
};
const withStatus =
  (status: number): Respond =>
  (response, message) =>
    response.end(JSON.stringify({ status, message, invoice_id: 17 }));
const withHttpStatus =
  (status: number): Respond =>
  (response) =>
    response.writeHead(status).end();

/** What the service does with a write, and how often, in percent. It refuses those that a scenario selects. */
const answers = {
  success: [71, succeed],
  'slow success': [5, (...write) => void setTimeout(succeed, Math.random() * 600, ...write)],
  failed: [4, withStatus(1)],
  'not permitted': [4, withStatus(3)],
  'status 500': [4, withHttpStatus(500)],
  'status 503': [3, withHttpStatus(503)],
  'cut-off body': [
    3,
    (response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('{"status":0', () => response.destroy());
    },
  ],
  reset: [3, (response) => response.socket?.resetAndDestroy()],
  hang: [3, () => {}],
  refusal: [0, withHttpStatus(400)],
} satisfies Record<string, [share: number, Respond]>;

type Answer = keyof typeof answers;

/** A write that arrived at the service. */
type Arrival = {
  answer: Answer;
  /** A text that is in no other response: the message of the status record, or `unresolved`. */
  text: string;
  /** In the time of `performance.now()`. */
  at: number;
};

export type Ledger = Awaited<ReturnType<typeof startLedger>>;

/**
 * Starts a service that records every write. It refuses the intents that `isRefused` selects with 400, and
 * responds at random to the others.
 */
export async function startLedger(isRefused: (id: string) => boolean = () => false) {
  const arrivals = new Map<string, Arrival[]>();
  let inFlight = 0;
  const service = await startService((response, received) => {
    const id = intentOf(received);
    if (id === undefined) return success(response, received);
    inFlight += 1;
    response.once('close', () => {
      inFlight -= 1;
    });
    const earlier = arrivals.get(id) ?? [];
    const text = `${id}, arrival ${earlier.length + 1}`;
    const answer = isRefused(id) ? 'refusal' : pickAnswer();
    arrivals.set(id, [...earlier, { answer, text, at: performance.now() }]);
    const [, respond]: [number, Respond] = answers[answer];
    return respond(response, text, received.url);
  });
  return {
    service,
    /** The writes that have no response yet. */
    inFlight: () => inFlight,
    /** The arrivals of each intent, by its id. */
    arrivals,
    /** The arrivals of an intent that the service did not refuse. */
    accepted: (id: string) => (arrivals.get(id) ?? []).filter(({ answer }) => answer !== 'refusal'),
  };
}

/** The union members that a client may get for an answer, besides `LedgerOutcomeUnknown`. */
export const membersOf: Partial<Record<Answer, RegExp>> = {
  success: /^(ApproversSaved|WorkflowCsvUploaded|WorkflowActionCompleted)$/,
  'slow success': /^(ApproversSaved|WorkflowCsvUploaded|WorkflowActionCompleted)$/,
  failed: /^LedgerFailed$/,
  'not permitted': /^LedgerNotPermitted$/,
};

const bodySchema = z.union([
  z.tuple([z.looseObject({ name: z.string() })]).transform(([{ name }]) => name),
  z.looseObject({ PictureName: z.string() }).transform(({ PictureName }) => PictureName),
]);

/** The id of the intent of a write, or undefined for a read. */
function intentOf({ url, body, headers }: Received): string | undefined {
  if (url.startsWith('/getGLCodes5')) return undefined;
  if (body !== '') return bodySchema.safeParse(JSON.parse(body)).data;
  return String(decodeJwt(headers.authorization?.replace('Bearer ', '') ?? '').sub);
}

function pickAnswer(): Answer {
  const names = Object.keys(answers) as Answer[];
  let rest = Math.random() * 100;
  return (
    names.find((name) => {
      rest -= answers[name][0];
      return rest < 0;
    }) ?? 'success'
  );
}
