import { createInterface } from 'node:readline';
import { z } from 'zod';

/**
 * What is wrong, from the log of all instances on standard input: faults, callers, and writes whose outcome is unknown.
 *
 *   node deploy/log-report.ts [minutes] < gateway.log
 *
 * It reports the last hour unless it gets another number of minutes. Each unknown write is one line of JSON.
 */
const DEFAULT_MINUTES = 60;
/** A write without a `call` line may be in flight for so many milliseconds. */
const IN_FLIGHT_MS = 60_000;
const SHOWN_FAULTS = 25;
const SHOWN_CALLERS = 5;

/** The fields of a log line that are read here (docs/operations.md). */
const lineSchema = z.object({
  level: z.number(),
  time: z.number(),
  msg: z.string(),
  requestId: z.string().optional(),
  operation: z.string().optional(),
  outcome: z.string().optional(),
  status: z.number().optional(),
  caller: z.string().optional(),
  claim: z.string().optional(),
  code: z.string().optional(),
  fault: z.string().optional(),
  reason: z.string().optional(),
  refusal: z.string().optional(),
  issuer: z.string().optional(),
  azp: z.string().optional(),
  client: z.string().optional(),
  ms: z.number().optional(),
  error: z.object({ message: z.string() }).optional(),
});
type Line = z.infer<typeof lineSchema>;

/** A line of JSON, after a prefix such as that of `kubectl logs --prefix`; undefined for any other text. */
function parseLine(text: string): Line | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(text.slice(Math.max(0, text.indexOf('{'))))).data;
  } catch {
    return undefined;
  }
}

/** Whether a line is about the gateway itself. It is written once, when something begins or ends. */
function isState({ msg, level, requestId, caller }: Line): boolean {
  const isEnd = /^(idempotency store is available again|keys fetched|circuit closed)$/.test(msg);
  return isEnd || (level >= 40 && requestId === undefined && caller === undefined);
}

/** Whether other lines have the cause: those of calls for a request that failed, and those before the circuit opened. */
function isConsequence({ msg, outcome = '', fault }: Line): boolean {
  return msg === 'request' ? /^(UPSTREAM_\w+,?)+$/.test(outcome) : fault === 'circuit open';
}

type Caller = { requests: number; rejected: number; ms: number; names: Set<string> };

/** Collects lines, and reports what they say together. */
export class LogReport {
  readonly #faults = new Map<string, { lines: number; last: number; isState: boolean }>();
  readonly #callers = new Map<string, Caller>();
  readonly #unknown: Line[] = [];
  /** `sent` lines whose `call` line is missing, by request and operation. */
  readonly #sent = new Map<string, Line>();
  readonly #since: number;
  /** The time of the last line, also before `since`: a log that is blocked has no later ones. */
  #last = 0;

  constructor(since: number) {
    this.#since = since;
  }

  add(line: Line): void {
    this.#last = Math.max(this.#last, line.time);
    if (isState(line)) this.#addFault(line);
    if (isState(line) || line.time < this.#since) return;
    const { msg, level, outcome = 'ok', requestId, operation } = line;
    const write = `${requestId} ${operation}`;
    const isFault = msg === 'request' ? outcome !== 'ok' : level >= 40 && msg !== 'outcome unknown';
    if (isFault && !isConsequence(line)) this.#addFault(line);
    if (msg === 'request' && line.caller !== undefined) this.#addCaller(line.caller, line);
    if (msg === 'sent') this.#sent.set(write, line);
    if (msg === 'call' && outcome !== 'UNKNOWN') this.#sent.delete(write);
    if (msg === 'outcome unknown') this.#unknown.push(line);
  }

  #addFault(line: Line): void {
    const { msg, time, operation, outcome, status, reason, error } = line;
    // The operation of a request is a name that its client has chosen.
    const called = msg === 'request' ? undefined : operation;
    const words = [
      msg,
      called,
      outcome,
      status,
      ...(reason !== undefined && !msg.endsWith(reason) ? [reason] : []),
      line.refusal,
      line.issuer,
      line.fault,
    ];
    const said = new Set([...words, error?.message].filter((word) => word !== undefined));
    const text = [...said].join(' ');
    const { lines = 0, last = 0 } = this.#faults.get(text) ?? {};
    const isOne = isState(line);
    this.#faults.set(text, { lines: lines + 1, last: Math.max(last, time), isState: isOne });
  }

  #addCaller(hash: string, { outcome, ms = 0, azp, client }: Line): void {
    const none: Caller = { requests: 0, rejected: 0, ms: 0, names: new Set() };
    const caller = this.#callers.get(hash) ?? none;
    this.#callers.set(hash, caller);
    caller.requests += 1;
    caller.ms += ms;
    // A loop fills the queue to the service before the gateway itself is overloaded.
    if (outcome && /OVERLOADED|UPSTREAM_BUSY/.test(outcome)) caller.rejected += 1;
    for (const name of [azp, client]) if (name !== undefined) caller.names.add(name);
  }

  /** The writes whose outcome is unknown, by time. Those of a process that has ended have no code but `ENDED`. */
  unknownWrites(now: number): object[] {
    const orphans = new Set(this.#unknown.map(({ claim }) => claim));
    const ended = [...this.#sent.values()].filter(
      ({ time, claim }) =>
        time < now - IN_FLIGHT_MS && (claim === undefined || !orphans.has(claim)),
    );
    return [...this.#unknown, ...ended.map((line) => ({ ...line, code: 'ENDED' }))]
      .sort((one, other) => one.time - other.time)
      .map(({ time, operation, code, caller, claim, requestId }) => {
        return { time: new Date(time).toISOString(), operation, code, caller, claim, requestId };
      });
  }

  text(now: number): string {
    const faults = [...this.#faults]
      .sort(([, one], [, other]) => other.lines - one.lines)
      .sort(([, one], [, other]) => Number(other.isState) - Number(one.isState))
      .slice(0, SHOWN_FAULTS)
      .map(([text, { lines, last }]) => `${lines}\t${new Date(last).toISOString()}\t${text}`);
    const callers = [...this.#callers]
      .sort(([, one], [, other]) => other.requests - one.requests)
      .slice(0, SHOWN_CALLERS)
      .map(([hash, { requests, rejected, ms, names }]) =>
        [requests, rejected, Math.round(ms / requests), hash, ...names].join('\t'),
      );
    const writes = this.unknownWrites(now).map((write) => JSON.stringify(write));
    return [
      ...['FAULTS (lines, last one, what)', ...faults, ''],
      ...[
        'CALLERS (requests, rejected as OVERLOADED or UPSTREAM_BUSY, ms per request, hash, application)',
        ...callers,
        '',
      ],
      ...[`UNKNOWN WRITES: ${writes.length}`, ...writes, ''],
      ...[`LAST LINE: ${this.#last ? new Date(this.#last).toISOString() : 'none'}`, ''],
    ].join('\n');
  }
}

if (import.meta.main) {
  const now = Date.now();
  const since = now - Number(process.argv[2] ?? DEFAULT_MINUTES) * 60_000;
  const report = new LogReport(since);
  for await (const text of createInterface(process.stdin)) {
    const line = parseLine(text);
    if (line) report.add(line);
  }
  process.stdout.write(report.text(now));
}
