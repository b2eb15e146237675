import { createInterface } from 'node:readline';
import { z } from 'zod';
import { logLine, readLogLine } from '../src/telemetry/log-line.ts';

/**
 * What is wrong, from the log of all instances on standard input: faults, callers, and writes whose outcome is unknown.
 *
 *   node deploy/log-report.ts [minutes] [all] < gateway.log
 *
 * It reports the last hour before the last line unless it gets another number of minutes: the clock of the gateway may be
 * wrong. Each unknown write is one line of JSON; `all` prints more than the last ones.
 */
const DEFAULT_MINUTES = 60;
/** A write without a `call` line may be in flight for so many milliseconds. */
const IN_FLIGHT_MS = 60_000;
const SHOWN_FAULTS = 25;
const SHOWN_CALLERS = 5;
const SHOWN_WRITES = 20;

/** The fields of a log line that are read here (docs/reference/log-lines.md). */
const lineSchema = z.object({
  ...logLine.shape,
  requestId: z.string().optional(),
  operation: z.string().optional(),
  service: z.string().optional(),
  outcome: z.string().optional(),
  status: z.number().optional(),
  caller: z.string().optional(),
  claim: z.string().optional(),
  code: z.string().optional(),
  fault: z.string().optional(),
  reason: z.string().optional(),
  quarantineEnd: z.string().optional(),
  refusal: z.string().optional(),
  issuer: z.string().optional(),
  azp: z.string().optional(),
  writes: z.array(z.string()).optional(),
  replay: z.boolean().optional(),
  client: z.string().optional(),
  heldBytes: z.number().optional(),
  ms: z.number().optional(),
  error: z.object({ message: z.string() }).optional(),
});
type Line = z.infer<typeof lineSchema>;

/** A line of the log with these fields; undefined for any other text. */
function parseLine(text: string): Line | undefined {
  return lineSchema.safeParse(readLogLine(text)).data;
}

/** Whether it is a line of the audit record, which may share the output of the log (docs/reference/audit-record.md). */
function isAuditLine(text: string): boolean {
  return text.slice(text.indexOf('{')).startsWith('{"audit":');
}

/** Reads a log, and reports the minutes before its last line. */
export async function reportLog(
  texts: AsyncIterable<string>,
  minutes: number,
  shownWrites: number,
) {
  const lines: Line[] = [];
  let unreadable = 0;
  let last = 0; // Also of a log that was blocked hours ago.
  for await (const text of texts) {
    const line = parseLine(text);
    if (line) {
      lines.push(line);
      last = Math.max(last, line.time);
    } else if (text.trim() !== '' && !isAuditLine(text)) unreadable += 1;
  }
  const report = new LogReport(last - minutes * 60_000);
  for (const line of lines) report.add(line);
  const time = last > 0 ? new Date(last).toISOString() : 'none';
  const ends = [`LAST LINE: ${time}`, `UNREADABLE LINES: ${unreadable}`, ''];
  return [report.text(last, shownWrites), ...ends].join('\n');
}

function isEnd({ msg }: Line): boolean {
  return ['idempotency store is available again', 'keys fetched', 'circuit closed'].includes(msg);
}

/** Whether a line is about the gateway itself. It is written once, when something begins or ends. */
function isState(line: Line): boolean {
  const { level, requestId, caller } = line;
  return isEnd(line) || (level >= 40 && requestId === undefined && caller === undefined);
}

/** What a line about the gateway itself is about, if it has lines for its begin and its end. */
function subjectOf({ msg, reason, issuer, service }: Line): string | undefined {
  if (reason !== undefined || msg === 'idempotency store is available again') return 'store';
  if (['cannot fetch keys', 'keys fetched'].includes(msg)) return `keys ${issuer}`;
  return ['circuit opened', 'circuit closed'].includes(msg) ? `circuit ${service}` : undefined;
}

/** Whether other lines have the cause: those of calls for a request that failed, and those before the circuit opened. */
function isConsequence({ msg, outcome = '', fault }: Line): boolean {
  return msg === 'request' ? /^(UPSTREAM_\w+,?)+$/.test(outcome) : fault === 'circuit open';
}

/** What a line says, without what differs from one to the next. */
function textOf(line: Line): string {
  const { msg, operation, outcome, status, reason, error } = line;
  // The operation of a request is a name that its client has chosen.
  const called = msg === 'request' ? undefined : operation;
  const words = [
    msg,
    called,
    outcome,
    status,
    ...(reason !== undefined && !msg.endsWith(reason) ? [reason] : []),
    line.service,
    line.refusal,
    line.issuer,
    line.fault,
    line.quarantineEnd,
  ];
  const said = new Set([...words, error?.message].filter((word) => word !== undefined));
  return [...said].join(' ');
}

/** The faults that have ended. A line does not name its instance, so each must end as often as it began. */
function endedFaults(states: readonly Line[]): Set<string> {
  const open = new Map<string, { subject: string; times: number }>();
  for (const line of states.toSorted((one, other) => one.time - other.time)) {
    const subject = subjectOf(line);
    if (subject === undefined) continue;
    if (isEnd(line)) {
      for (const fault of open.values()) {
        if (fault.subject === subject) fault.times = Math.max(0, fault.times - 1);
      }
    } else {
      const text = textOf(line);
      open.set(text, { subject, times: (open.get(text)?.times ?? 0) + 1 });
    }
  }
  return new Set([...open].flatMap(([text, { times }]) => (times === 0 ? [text] : [])));
}

/** The results after which nobody knows whether a write took effect, and which have no line of their own. */
const uncertain = ['LedgerUnrecognizedStatus', 'INTERNAL_SERVER_ERROR'];

/** The writes of a request with such a result. */
function uncertainOf(line: Line): Line[] {
  const writes = (line.writes ?? []).map((write) => write.split(' '));
  return writes.flatMap(([operation, code = '']) =>
    uncertain.includes(code) ? [{ ...line, operation, code }] : [],
  );
}

type Caller = Record<'requests' | 'rejected' | 'ms' | 'heldBytes', number> & {
  last: Line;
  names: Set<string>;
};

/** Those who take most of anything first: requests, time, or memory. */
function byLargestShare(callers: ReadonlyMap<string, Caller>): [string, Caller][] {
  const all = [...callers];
  const kinds = ['requests', 'ms', 'heldBytes'] as const;
  const sums = kinds.map((kind) => all.reduce((sum, [, caller]) => sum + caller[kind], 0) || 1);
  const shareOf = (caller: Caller) =>
    Math.max(...kinds.map((kind, n) => caller[kind] / (sums[n] ?? 1)));
  return all.sort(([, one], [, other]) => shareOf(other) - shareOf(one));
}

/** Collects lines, and reports what they say together. */
export class LogReport {
  readonly #faults = new Map<string, { lines: number; last: number; isState: boolean }>();
  readonly #states: Line[] = [];
  readonly #callers = new Map<string, Caller>();
  readonly #unknown: Line[] = [];
  /** `sent` lines whose `call` line is missing, by request and operation. */
  readonly #sent = new Map<string, Line>();
  readonly #since: number;

  constructor(since: number) {
    this.#since = since;
  }

  add(line: Line): void {
    if (isState(line)) {
      this.#states.push(line);
      this.#addFault(line);
      return;
    }
    if (line.time < this.#since) return;
    const { msg, level, outcome = 'ok', requestId, operation } = line;
    const write = `${requestId} ${operation}`;
    const isFault = msg === 'request' ? outcome !== 'ok' : level >= 40 && msg !== 'outcome unknown';
    if (isFault && !isConsequence(line)) this.#addFault(line);
    if (msg === 'request' && line.caller !== undefined) this.#addCaller(line.caller, line);
    if (msg === 'sent') this.#sent.set(write, line);
    if (msg === 'call' && outcome !== 'UNKNOWN') this.#sent.delete(write);
    if (msg === 'outcome unknown') this.#unknown.push(line);
    if (line.replay !== true) this.#unknown.push(...uncertainOf(line));
  }

  #addFault(line: Line): void {
    const text = textOf(line);
    const { lines = 0, last = 0 } = this.#faults.get(text) ?? {};
    const isOne = isState(line);
    this.#faults.set(text, { lines: lines + 1, last: Math.max(last, line.time), isState: isOne });
  }

  #addCaller(hash: string, line: Line): void {
    const { outcome, ms = 0, heldBytes = 0, azp, client } = line;
    const counts = { requests: 0, rejected: 0, ms: 0, heldBytes: 0 };
    const none: Caller = { ...counts, last: line, names: new Set() };
    const caller = this.#callers.get(hash) ?? none;
    this.#callers.set(hash, caller);
    caller.requests += 1;
    caller.ms += ms;
    caller.heldBytes += heldBytes;
    if (line.time >= caller.last.time) caller.last = line;
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

  text(now: number, shownWrites = SHOWN_WRITES): string {
    const ended = endedFaults(this.#states);
    const faults = [...this.#faults]
      .sort(([, one], [, other]) => {
        const order = one.isState ? other.last - one.last : other.lines - one.lines;
        return Number(other.isState) - Number(one.isState) || order;
      })
      .slice(0, SHOWN_FAULTS)
      .map(([text, { lines, last }]) =>
        [lines, new Date(last).toISOString(), ended.has(text) ? `${text} (ended)` : text].join(
          '\t',
        ),
      );
    const callers = byLargestShare(this.#callers)
      .slice(0, SHOWN_CALLERS)
      .map(([hash, { requests, rejected, ms, heldBytes, last, names }]) => {
        const means = [ms / requests, heldBytes / requests / 1024].map(Math.round);
        return [requests, rejected, ...means, hash, last.requestId, ...names].join('\t');
      });
    const writes = this.unknownWrites(now).map((write) => JSON.stringify(write));
    const more = Math.max(0, writes.length - shownWrites);
    const hint = more > 0 ? ` (${more} earlier ones are shown with the argument \`all\`)` : '';
    return [
      ...['FAULTS (lines, last one, what)', ...faults, ''],
      ...[
        'CALLERS (requests, rejected as OVERLOADED or UPSTREAM_BUSY, ms and KiB held per request, hash, a requestId, application)',
        ...callers,
        '',
      ],
      ...[`UNKNOWN WRITES: ${writes.length}${hint}`, ...writes.slice(more), ''],
    ].join('\n');
  }
}

if (import.meta.main) {
  const [minutes = DEFAULT_MINUTES] = process.argv.slice(2).filter((one) => one !== 'all');
  const shownWrites = process.argv.includes('all') ? Infinity : SHOWN_WRITES;
  process.stdout.write(
    await reportLog(createInterface(process.stdin), Number(minutes), shownWrites),
  );
}
