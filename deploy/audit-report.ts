import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { createGunzip } from 'node:zlib';
import { closest } from 'fastest-levenshtein';
import { z } from 'zod';
import { type AuditLine, auditLine } from '../src/audit/audit-line.ts';
import { ledger } from '../src/resolvers/ledger.ts';
import { readLogLine } from '../src/telemetry/log-line.ts';

/*
 * Answers questions from the audit record of all instances (docs/reference/audit-record.md), in files, of which some may be compressed (`.gz`),
 * or on standard input:
 *
 *   node deploy/audit-report.ts [--action NAME] [--field NAME] [--subject SUB] [--from TIME] [--to TIME] [--unknown] [FILE…]
 *
 * It prints the writes to which all options apply, one a line, with tabs between the columns. On standard error it says
 * how much it has read. It exits with 1 if the record is not complete. The input may also have the log, because some lines are
 * reported missing only there.
 */

process.once('uncaughtException', ({ message }) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
});

type WriteLine = Exclude<AuditLine, { audit: 'dropped' }>;
type OutcomeLine = Extract<AuditLine, { audit: 'outcome' }>;
/** A write, of whose lines one may be missing. */
type Write = { first: WriteLine; isSent: boolean; end?: OutcomeLine };

const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    action: { type: 'string' },
    field: { type: 'string' },
    subject: { type: 'string' },
    from: { type: 'string', default: '0001-01-01' },
    to: { type: 'string', default: '9999-12-31' },
    unknown: { type: 'boolean', default: false },
  },
});

const isoPattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

const { action, field, subject } = options;
/** The writes that were asked for, by their intents and ids. Of the others nothing is kept, so that a year of a record can be read. */
const intents = new Map<string, Map<string, Write>>();
/** With `--unknown`, the intents of which an outcome was read. */
const known = new Set<string>();
/** The lines of the log that report missing lines: of standard output, which may have the record, or of the record's file. */
const lossLine = z.object({
  msg: z.enum(['log lines dropped', 'audit lines dropped']),
  dropped: z.number(),
});
/** Whether a line of the record has the action and the field that were asked for. */
const found = { action: false, field: false };
const counts = { audit: 0, other: 0, unreadable: 0, dropped: 0 };
/** How many lines the log reports missing. */
const missing = { 'log lines dropped': 0, 'audit lines dropped': 0 };

function add(text: string): void {
  const line = parseLine(text);
  if (line === 'other' || line === 'unreadable') {
    counts[line] += 1;
    return;
  }
  if ('msg' in line) {
    counts.other += 1;
    missing[line.msg] += line.dropped;
    return;
  }
  counts.audit += 1;
  if (line.audit === 'dropped') {
    counts.dropped += line.lines;
    return;
  }
  found.action ||= line.action === action;
  found.field ||= line.field === field;
  if (!isAsked(line)) return;
  // All writes with one key and one response name are one intent.
  const intent = line.claim === undefined ? line.writeId : `${line.claim} ${line.responseName}`;
  if (known.has(intent)) return;
  if (options.unknown && isKnown(line)) {
    known.add(intent);
    intents.delete(intent);
    return;
  }
  const writes = intents.get(intent) ?? new Map<string, Write>();
  intents.set(intent, writes);
  const write = writes.get(line.writeId) ?? { first: line, isSent: false };
  writes.set(line.writeId, write);
  if (line.time < write.first.time) write.first = line;
  if (line.audit === 'sent') write.isSent = true;
  else write.end = line;
}

async function read(input: Readable): Promise<void> {
  let rest = '';
  for await (const chunk of input.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') add(line);
  }
  if (rest.trim() !== '') add(rest);
}

/** A line of the record or a report of missing lines, after a prefix such as that of `kubectl logs --prefix`. */
function parseLine(text: string): AuditLine | z.infer<typeof lossLine> | 'other' | 'unreadable' {
  try {
    const value: unknown = JSON.parse(text.slice(Math.max(0, text.indexOf('{'))));
    if (Object.hasOwn(Object(value), 'audit')) return auditLine.parse(value);
    return lossLine.safeParse(readLogLine(text)).data ?? 'other';
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
function isAsked(line: WriteLine): boolean {
  if (action !== undefined && line.action !== action) return false;
  if (field !== undefined && line.field !== field) return false;
  return subject === undefined || isOf(subject, line);
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

/** Throws if a name is neither one of this version nor in the record, which another version may have written. */
function checkName(key: 'action' | 'field', name: string | undefined): void {
  const names = ledger.operations.flatMap((operation) => operation[key] ?? []);
  if (name === undefined || names.includes(name) || found[key]) return;
  throw new Error(`--${key} ${name} is unknown. Did you mean ${closest(name, names)}?`);
}

const columns = 'time who application what targets outcome code replay requestId'.split(' ');

function rowOf({ first, end }: Write): string {
  const { time, sub, caller, azp, action, field, ids = {}, omittedIds, files = [] } = first;
  const targets = [
    ...Object.entries(ids).map(([name, values]) => `${name}=${values.join()}`),
    ...(omittedIds === undefined ? [] : [`and ${omittedIds} more`]),
    ...files.map(({ name, bytes, sha256 }) => `${name} (${bytes} bytes, SHA-256 ${sha256})`),
  ];
  const outcome = end ? (end.outcome ?? 'error') : 'none: in flight, or the process ended';
  const result = [outcome, end?.code, end?.replay ? 'replay' : ''];
  const cells = [time, sub ?? caller, azp, action ?? field, targets.join(' '), ...result];
  // Texts of clients could make columns and rows, or control the terminal.
  return [...cells, first.requestId]
    .map((cell = '') => cell.replaceAll(/[\s\p{Cc}]/gu, ' '))
    .join('\t');
}

const [from, to] = [timeOf(options.from), timeOf(options.to)];
if (paths.length === 0) await read(process.stdin);
for (const path of paths) {
  const file = createReadStream(path);
  const input = path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
  await read(input).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  });
}
checkName('action', action);
checkName('field', field);
const listed = [...intents.values()]
  .flatMap((writes) => (options.unknown ? unknownOf([...writes.values()]) : [...writes.values()]))
  .filter(({ first }) => first.time >= from && first.time < to)
  .sort((one, other) => one.first.time.localeCompare(other.first.time));
process.stdout.write([columns.join('\t'), ...listed.map(rowOf), ''].join('\n'));

const inOutput = missing['log lines dropped'];
const inFile = missing['audit lines dropped'];
const faults = [
  ...(counts.audit === 0 ? ['NO LINE OF AN AUDIT RECORD WAS FOUND.'] : []),
  ...(counts.unreadable > 0 ? [`${counts.unreadable} LINES COULD NOT BE READ.`] : []),
  ...(counts.dropped > 0 ? [`${counts.dropped} LINES WERE NOT WRITTEN by a gateway.`] : []),
  ...(inOutput > 0
    ? [`${inOutput} LINES ARE MISSING on standard output: some may be lines of the record.`]
    : []),
  ...(inFile > 0 ? [`${inFile} LINES OF A FILE ARE MISSING, as the log of a gateway says.`] : []),
];
const summary = `${listed.length} writes, found in ${counts.audit} lines of the record (and ${counts.other} other lines).`;
process.stderr.write(`${[summary, ...faults].join('\n')}\n`);
if (faults.length > 0) process.exitCode = 1;
