import { z } from 'zod';
import { keepAliveAgent, outcomeOf, post, readQuery } from '../client.ts';
import type { Scenario } from '../harness.ts';
import { closedLoop } from '../load.ts';
import type { Behaviour, Exchange } from '../service.ts';
import { tally } from '../statistics.ts';

const CALLERS = 6;
const SECONDS = 8;

const restartMutation =
  'mutation { result: workflowAction(action: RESTART) { __typename ... on LedgerStatus { message } } }';

const codesResponse = z.object({
  data: z.object({ result: z.object({ codes: z.array(z.object({ code: z.string() })) }) }),
});

/** A response never reaches another caller, even if their queries are equal. */
export const isolation: Scenario = {
  name: 'isolation',
  async run(harness) {
    const service = await harness.startService(respondWithSubject);
    const gateway = await harness.startGateway(service);
    const agent = keepAliveAgent(harness);
    const subjects = Array.from({ length: CALLERS }, (_, n) => `caller-${n}`);
    const tokens = await Promise.all(subjects.map((sub) => harness.issuer.token({ sub })));

    const reads: string[] = [];
    const writes: string[] = [];
    await closedLoop(48, SECONDS, async () => {
      const n = Math.floor(Math.random() * CALLERS);
      const [token = '', subject = ''] = [tokens[n], subjects[n]];
      if (Math.random() < 0.05) {
        const response = await post(gateway.url, token, restartMutation, { agent });
        const isOwn = response.body.includes(`"message":"${subject}"`);
        writes.push(isOwn ? 'own' : outcomeOf(response));
        return;
      }
      // Two projects for all callers: most reads have an equal one in flight.
      const query = readQuery(Math.random() < 0.5 ? 'north' : 'south');
      const response = await post(gateway.url, token, query, { agent });
      const { data } = codesResponse.safeParse(JSON.parse(response.body || 'null'));
      const codes = data?.data.result.codes.map(({ code }) => code) ?? [];
      const isOwn = codes.length === 3 && codes.every((code) => code === subject);
      reads.push(isOwn ? 'own' : codes.length > 0 ? 'OF ANOTHER CALLER' : outcomeOf(response));
    });
    const shared = await gateway.metric('ledger_gateway_calls_shared_total');
    return [
      {
        claim: `${CALLERS} callers with equal queries for ${SECONDS} s: each gets only its own responses`,
        measured: `reads: ${tally(reads)}; writes: ${tally(writes)}`,
        holds: [...reads, ...writes].every((kind) => kind === 'own') && reads.length > 500,
      },
      {
        claim: 'equal reads of one caller share requests to the service',
        measured: `${shared} of ${reads.length} shared, ${service.calls} requests to the service`,
        holds: shared > 0 && service.calls < reads.length + writes.length,
      },
    ];
  },
};

/** Responds after up to 20 ms, with the caller's subject in every place. */
const respondWithSubject: Behaviour = (exchange) => {
  const sub = subjectOf(exchange);
  const body = JSON.stringify({
    service_status: { status: 0, message: sub },
    status: 0,
    message: sub,
    list: Array.from({ length: 3 }, () => ({ Code: sub })),
  });
  setTimeout(() => exchange.response.end(body), Math.random() * 20);
};

/** The subject of the token in a request. */
function subjectOf({ request }: Exchange): string {
  const payload = request.headers.authorization?.split('.')[1] ?? '';
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  return z.object({ sub: z.string() }).parse(claims).sub;
}
