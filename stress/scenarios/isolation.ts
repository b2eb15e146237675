import { z } from 'zod';
import {
  type Call,
  closedLoop,
  keptConnections,
  outcomeOf,
  post,
  readOf,
  type Scenario,
  tally,
} from '../harness.ts';

const CALLERS = 6;
const SECONDS = 8;

const answered = z.object({
  data: z.object({ result: z.object({ codes: z.array(z.object({ code: z.string() })) }) }),
});

/** No answer crosses between tokens, however equal the queries are. */
export const isolation: Scenario = {
  name: 'isolation',
  async run(world) {
    const service = await world.startService((call) => {
      const sub = subjectOf(call);
      const body = JSON.stringify({
        service_status: { status: 0, message: sub },
        status: 0,
        message: sub,
        list: Array.from({ length: 3 }, () => ({ Code: sub })),
      });
      setTimeout(() => call.response.end(body), Math.random() * 20);
    });
    const gateway = await world.startGateway(service);
    const agent = keptConnections(world);
    const subjects = Array.from({ length: CALLERS }, (_, n) => `caller-${n}`);
    const tokens = await Promise.all(subjects.map((sub) => world.issuer.token({ sub })));

    const reads: string[] = [];
    const writes: string[] = [];
    await closedLoop(48, SECONDS, async () => {
      const n = Math.floor(Math.random() * CALLERS);
      const [token = '', subject = ''] = [tokens[n], subjects[n]];
      if (Math.random() < 0.05) {
        const query =
          'mutation { result: workflowAction(action: RESTART) { __typename ... on LedgerStatus { message } } }';
        const answer = await post(gateway.url, token, query, { agent });
        const isOwn = answer.body.includes(`"message":"${subject}"`);
        writes.push(isOwn ? 'own' : outcomeOf(answer));
        return;
      }
      // Two projects for all: most reads have an equal one in flight.
      const query = readOf(Math.random() < 0.5 ? 'north' : 'south');
      const answer = await post(gateway.url, token, query, { agent });
      const { data } = answered.safeParse(JSON.parse(answer.body || 'null'));
      const codes = data?.data.result.codes.map(({ code }) => code) ?? [];
      const isOwn = codes.length === 3 && codes.every((code) => code === subject);
      reads.push(isOwn ? 'own' : codes.length > 0 ? 'CROSSED' : outcomeOf(answer));
    });
    const shared = await gateway.metric('ledger_gateway_calls_shared_total');
    return [
      {
        claim: `${CALLERS} tokens, equal queries for ${SECONDS} s: every answer is the caller's own`,
        measured: `reads: ${tally(reads)}; writes: ${tally(writes)}`,
        holds: [...reads, ...writes].every((one) => one === 'own') && reads.length > 500,
      },
      {
        claim: 'while equal reads do share calls',
        measured: `${shared} of ${reads.length} shared, ${service.calls} calls`,
        holds: shared > 0 && service.calls < reads.length + writes.length,
      },
    ];
  },
};

/** Whose token a call carries. */
function subjectOf({ request }: Call): string {
  const payload = request.headers.authorization?.split('.')[1] ?? '';
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  return z.object({ sub: z.string() }).parse(claims).sub;
}
