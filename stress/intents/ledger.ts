import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Received, success } from '../../test/support/service.ts';
import { startService } from '../harness.ts';

/** What the service does with a write, and how often, in percent. */
const shares = {
  success: 71,
  'slow success': 5,
  failed: 4,
  'not permitted': 4,
  'status 500': 4,
  'status 503': 3,
  'cut-off body': 3,
  reset: 3,
  hang: 3,
};

export type Answer = keyof typeof shares | 'refusal';

/** A write that arrived at the service. */
export type Arrival = {
  answer: Answer;
  /** A text that is in no other response: the message of the status record, or `unresolved`. */
  text: string;
  /** In the time of `performance.now()`. */
  at: number;
};

export type Ledger = {
  service: { url: string };
  /** The arrivals of each intent, by its id. */
  arrivals: Map<string, Arrival[]>;
  /** The arrivals of an intent that the service did not refuse. */
  accepted(id: string): Arrival[];
};

/**
 * Starts a service that records every write. It refuses the intents that `isRefused` selects with 400, and
 * responds at random to the others, unless `isReliable`.
 */
export async function startLedger(options: {
  isReliable: boolean;
  isRefused: (id: string) => boolean;
}): Promise<Ledger> {
  const arrivals: Ledger['arrivals'] = new Map();
  const service = await startService((response, received) => {
    const id = intentOf(received);
    if (id === undefined) return success(response, received);
    const earlier = arrivals.get(id) ?? [];
    const text = `${id}, arrival ${earlier.length + 1}`;
    const answer = options.isReliable ? 'slow success' : pickAnswer();
    const arrival: Arrival = {
      answer: options.isRefused(id) ? 'refusal' : answer,
      text,
      at: performance.now(),
    };
    arrivals.set(id, [...earlier, arrival]);
    return respond(response, received.url, arrival);
  });
  return {
    service,
    arrivals,
    accepted: (id) => (arrivals.get(id) ?? []).filter(({ answer }) => answer !== 'refusal'),
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
  const payload = headers.authorization?.split('.')[1] ?? '';
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  return z.object({ sub: z.string() }).parse(claims).sub;
}

function pickAnswer(): Answer {
  let rest = Math.random() * 100;
  for (const [answer, share] of Object.entries(shares)) {
    rest -= share;
    if (rest < 0) return answer as keyof typeof shares;
  }
  return 'success';
}

function respond(response: ServerResponse, url: string, { answer, text }: Arrival): void {
  const succeedWithText = () =>
    response.end(
      JSON.stringify(
        url === '/updateWorkflowCSV' ? { unresolved: text } : { status: 0, message: text },
      ),
    );
  switch (answer) {
    case 'success':
      succeedWithText();
      return;
    case 'slow success':
      setTimeout(succeedWithText, Math.random() * 600);
      return;
    case 'failed':
      response.end(JSON.stringify({ status: 1, message: text, invoice_id: 17 }));
      return;
    case 'not permitted':
      response.end(JSON.stringify({ status: 3, message: text }));
      return;
    case 'refusal':
      response.writeHead(400).end();
      return;
    case 'status 500':
      response.writeHead(500).end();
      return;
    case 'status 503':
      response.writeHead(503).end();
      return;
    case 'cut-off body':
      response.writeHead(200, { 'content-length': 1000 });
      response.write('{"status":0', () => response.destroy());
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'hang':
      return;
  }
}
