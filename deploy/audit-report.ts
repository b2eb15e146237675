import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { createGunzip } from 'node:zlib';
import { closest } from 'fastest-levenshtein';
import { z } from 'zod';
import { type AuditLine, auditLine } from '../src/audit/audit-line.ts';
import { ledger } from '../src/resolvers/ledger.ts';

/*
 * Answers questions from the audit record of all instances (docs/reference/audit-record.md), in files, of which some may be compressed (`.gz`),
 * or on standard input:
 *
 *   node deploy/audit-report.ts [--action NAME] [--field NAME] [--subject SUB] [--id ID] [--from TIME] [--to TIME] [--unknown] [FILE…]
 *
 * It prints the writes to which all options apply, one a line, with tabs between the columns. On standard error it says
 * how much it has read. It exits with 1 if the record is not complete. The input may also have the log, because some lines are
 * reported missing only there.
 */

type WriteLine = Exclude<AuditLine, { audit: 'dropped' }>;
type OutcomeLine = Extract<AuditLine, { audit: 'outcome' }>;
/** A write, of whose lines one may be missing. */
type Write = { first: WriteLine; isSent: boolean; end?: OutcomeLine };

const parse = (args: string[]) =>
  parseArgs({
    args,
    allowPositionals: true,
    options: {
      action: { type: 'string' },
      field: { type: 'string' },
      subject: { type: 'string' },
      id: { type: 'string' },
      from: { type: 'string', default: '0001-01-01' },
      to: { type: 'string', default: '9999-12-31' },
      unknown: { type: 'boolean', default: false },
    },
  });
type Options = ReturnType<typeof parse>['values'];

const isoPattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** The lines of the log that report missing lines: of standard output, which may have the record, or of the record's file. */
const lossLine = z.object({
  msg: z.enum(['log lines dropped', 'audit lines dropped']),
  dropped: z.number(),
});

/** What makes an answer incomplete, and is counted. */
const faults: Record<string, string> = {
  unreadable: 'LINES COULD NOT BE READ.',
  dropped: 'LINES WERE NOT WRITTEN by a gateway.',
  'log lines dropped': 'LINES ARE MISSING on standard output: some may be lines of the record.',
  'audit lines dropped': 'LINES OF A FILE ARE MISSING, as the log of a gateway says.',
};
const names = ['action', 'field'] as const;

/** Collects the writes that were asked for. */
class AuditReport {
  readonly #options: Options;
  /** By their intents and ids. Of other writes nothing is kept, so that a year of a record can be read. */
  readonly #intents = new Map<string, Map<string, Write>>();
  /** With `--unknown`, the intents of which an outcome was read. */
  readonly #known = new Set<string>();
  /** Whether a line of the record has the action and the field that were asked for. */
  readonly #found = { action: false, field: false };
  readonly #counts = {
    ...{ audit: 0, other: 0, unreadable: 0, dropped: 0 },
    ...{ 'log lines dropped': 0, 'audit lines dropped': 0 },
  };
  /** With `--id`, the writes that may have this identifier beyond those of the record. */
  readonly #cut = new Set<string>();

  constructor(options: Options) {
    this.#options = options;
  }

  async read(input: Readable): Promise<void> {
    let rest = '';
    for await (const chunk of input.setEncoding('utf8')) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#add(line);
    }
    this.#add(rest);
  }

  #add(text: string): void {
    if (text.trim() === '') return;
    const counts = this.#counts;
    const line = parseLine(text);
    if (typeof line === 'string') counts[line] += 1;
    else if ('msg' in line) {
      counts.other += 1;
      counts[line.msg] += line.dropped;
    } else {
      counts.audit += 1;
      if (line.audit === 'dropped') counts.dropped += line.lines;
      else this.#addWrite(line);
    }
  }

  #addWrite(line: WriteLine): void {
    const options = this.#options;
    for (const name of names) this.#found[name] ||= line[name] === options[name];
    if (!isAsked(line, options)) return;
    if (options.id !== undefined && !hasId(line, options.id)) {
      if (line.omittedIds) this.#cut.add(line.writeId);
      return;
    }
    this.#cut.delete(line.writeId);
    // All writes with one key and one response name are one intent.
    const intent = line.claim === undefined ? line.writeId : `${line.claim} ${line.responseName}`;
    if (this.#known.has(intent)) return;
    if (options.unknown && isKnown(line)) {
      this.#known.add(intent);
      this.#intents.delete(intent);
      return;
    }
    const writes = this.#intents.get(intent) ?? new Map<string, Write>();
    this.#intents.set(intent, writes);
    const write = writes.get(line.writeId) ?? { first: line, isSent: false };
    writes.set(line.writeId, write);
    if (line.time < write.first.time) write.first = line;
    if (line.audit === 'sent') write.isSent = true;
    else write.end = line;
  }

  /** The rows, and what was read. Throws if a name is neither one of this version nor in the record. */
  end(from: string, to: string) {
    for (const name of names) if (!this.#found[name]) checkName(name, this.#options[name]);
    const isUnknown = this.#options.unknown;
    const listed = [...this.#intents.values()]
      .flatMap((writes) => (isUnknown ? unknownOf([...writes.values()]) : [...writes.values()]))
      .filter(({ first }) => first.time >= from && first.time < to)
      .sort((one, other) => one.first.time.localeCompare(other.first.time));
    const { audit, other, ...counts } = this.#counts;
    const said = [
      `${listed.length} writes, found in ${audit} lines of the record (and ${other} other lines).`,
      ...(audit === 0 ? ['NO LINE OF AN AUDIT RECORD WAS FOUND.'] : []),
      ...Object.entries(counts).flatMap(([kind, count]) =>
        count === 0 ? [] : [`${count} ${faults[kind]}`],
      ),
      ...(this.#cut.size > 0
        ? [`${this.#cut.size} WRITES HAVE MORE IDENTIFIERS THAN THE RECORD.`]
        : []),
    ];
    return {
      output: [columns.join('\t'), ...listed.map(rowOf), ''].join('\n'),
      said: `${said.join('\n')}\n`,
      status: said.length > 1 ? 1 : 0,
    };
  }
}

/** A line of the record or a report of missing lines, after a prefix such as that of `kubectl logs --prefix`. */
function parseLine(text: string): AuditLine | z.infer<typeof lossLine> | 'other' | 'unreadable' {
  try {
    const value: unknown = JSON.parse(text.slice(Math.max(0, text.indexOf('{'))));
    if (Object.hasOwn(Object(value), 'audit')) return auditLine.parse(value);
    return lossLine.safeParse(value).data ?? 'other';
  } catch {
    return 'unreadable';
  }
}

/** A date or time as the record writes it. Without a zone, it is in UTC. */
function timeOf(text: string): string {
  const [, date, clock, zone] = isoPattern.exec(text) ?? [];
  // JavaScript takes a time without a zone as a local one, and 30 February as 2 March.
  const time = new Date(clock !== undefined && zone === undefined ? `${text}Z` : text);
  if (!z.iso.date().safeParse(date).success || Number.isNaN(time.getTime())) {
    throw new Error(`${text} is no date or time of ISO 8601.`);
  }
  return time.toISOString();
}

function isOf(subject: string, { iss, sub, caller }: WriteLine): boolean {
  const hashed = hash('sha256', JSON.stringify([iss, subject]), 'base64');
  return sub === subject || caller === subject || caller === hashed;
}

/** Whether the options for names apply. Both lines of a write have the same names, and so have all writes of an intent. */
function isAsked(line: WriteLine, options: Options): boolean {
  const { subject } = options;
  const isOther = names.some((name) => options[name] !== undefined && options[name] !== line[name]);
  return !isOther && (subject === undefined || isOf(subject, line));
}

/** Whether a line has an identifier: one of the request, or the invoice of the response, which only the second line has. */
function hasId(line: WriteLine, id: string): boolean {
  const isInRequest = Object.values(line.ids ?? {}).some((values) => values.includes(id));
  return isInRequest || (line.audit === 'outcome' && line.invoiceId === id);
}

/** The outcomes after which nobody knows whether the write took effect. */
const unknownMembers: unknown[] = ['LedgerOutcomeUnknown', 'LedgerUnrecognizedStatus'];

function isKnown(line: WriteLine): boolean {
  return (
    line.audit === 'outcome' &&
    typeof line.outcome === 'string' &&
    !unknownMembers.includes(line.outcome)
  );
}

function isUnknown({ isSent, end }: Write): boolean {
  // A fault of the gateway may have ended the write after the service had it.
  if (!end || end.code === 'INTERNAL_SERVER_ERROR') return isSent;
  return unknownMembers.includes(end.outcome);
}

/** The writes whose outcome nobody has learned: of those of one intent, only the ones that were sent. */
function unknownOf(writes: Write[]): Write[] {
  const sent = writes.filter(({ isSent }) => isSent);
  // The sender may be in a file that is not read.
  return sent.length > 0 ? sent.filter(isUnknown) : writes.filter(isUnknown).slice(0, 1);
}

/** Throws if a name is not one of this version. */
function checkName(key: (typeof names)[number], name: string | undefined): void {
  const known = ledger.operations.flatMap((operation) => operation[key] ?? []);
  if (name === undefined || known.includes(name)) return;
  throw new Error(`--${key} ${name} is unknown. Did you mean ${closest(name, known)}?`);
}

const columns = 'time who application what targets outcome code replay requestId'.split(' ');

function rowOf({ first, end }: Write): string {
  const { time, sub, caller, azp, action, field, ids = {}, omittedIds, files = [] } = first;
  const targets = [
    ...Object.entries(ids).map(([name, values]) => `${name}=${values.join()}`),
    ...(omittedIds === undefined ? [] : [`and ${omittedIds} more`]),
    ...files.map(({ name, bytes, sha256 }) => `${name} (${bytes} bytes, SHA-256 ${sha256})`),
    ...(end?.invoiceId === undefined ? [] : [`response invoice_id=${end.invoiceId}`]),
  ];
  const outcome = end ? (end.outcome ?? 'error') : 'none: in flight, or the process ended';
  const result = [outcome, end?.code, end?.replay ? 'replay' : ''];
  const cells = [time, sub ?? caller, azp, action ?? field, targets.join(' '), ...result];
  // Texts of clients could make columns and rows, or control the terminal.
  return [...cells, first.requestId]
    .map((cell = '') => cell.replaceAll(/[\s\p{Cc}]/gu, ' '))
    .join('\t');
}

/** What the command writes, and its exit code. Rejects with a message for the user. */
export async function auditReport(args: string[], stdin: Readable) {
  const { values: options, positionals: paths } = parse(args);
  const [from, to] = [timeOf(options.from), timeOf(options.to)];
  const report = new AuditReport(options);
  if (paths.length === 0) await report.read(stdin);
  for (const path of paths) {
    const file = createReadStream(path);
    const input = path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
    await report.read(input).catch((error: unknown) => {
      throw new Error(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
    });
  }
  return report.end(from, to);
}

if (import.meta.main) {
  process.once('uncaughtException', ({ message }) => {
    process.stderr.write(`${message}\n`);
    process.exit(1);
  });
  const { output, said, status } = await auditReport(process.argv.slice(2), process.stdin);
  process.stdout.write(output);
  process.stderr.write(said);
  process.exitCode = status;
}
