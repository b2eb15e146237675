import { spawn, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { parseSync, Visitor } from 'oxc-parser';
import { z } from 'zod';

/*
 * Mutation testing: puts single faults into a copy of the project, and prints which test file finds each, or that none does.
 *   npm run mutate -- --files src/idempotency [--sample 60] [--seed 1]
 * V8's block coverage (test/support/coverage-environment.js) tells which test files execute the place of a fault. They
 * run first, then those of which this is not known, such as those that start processes, and last all others. The coverage is
 * kept in node_modules/.cache/mutate.json until a file changes.
 */
const startsProcesses =
  /testkit\/(client-faults|gateway-process|postgres|process|redis)\.ts|node:worker_threads/;
const swapped: Record<string, string> = {
  ...{ '&&': '||', '||': '&&', '??': '&&', '===': '!==', '!==': '===', '+': '-', '-': '+' },
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '*': '/', '/': '*' },
};
type Span = { start: number; end: number };
type Mutant = Span & { file: string; source: string; text: string };

/** The faults that can be put into a file: each replaces a span of it by a text. */
function mutantsOf(file: string): Mutant[] {
  const source = fs.readFileSync(file, 'utf8');
  const mutants: Mutant[] = [];
  const inTypes = new Set<number>();
  const textOf = ({ start, end }: Span) => source.slice(start, end);
  const replace = ({ start, end }: Span, text: string) =>
    mutants.push({ file, source, start, end, text });
  const remove = (node: Span) => replace(node, ';');
  const negate = ({ test }: { test: Span | null }) => test && replace(test, `!(${textOf(test)})`);
  const swap = (node: { left: Span; right: Span; operator: string }) => {
    const other = swapped[node.operator];
    const between = { start: node.left.end, end: node.right.start };
    if (other) replace(between, textOf(between).replace(node.operator, other));
  };
  new Visitor({
    ...{ IfStatement: negate, ConditionalExpression: negate, WhileStatement: negate },
    ...{ ForStatement: negate, BinaryExpression: swap, LogicalExpression: swap },
    ...{ ExpressionStatement: remove, ThrowStatement: remove, ContinueStatement: remove },
    AwaitExpression: (node) => replace(node, textOf(node.argument)),
    UnaryExpression: (node) => node.operator === '!' && replace(node, textOf(node.argument)),
    ReturnStatement({ argument, ...node }) {
      if (argument && textOf(argument) !== 'undefined') replace(node, 'return;');
    },
    TSLiteralType: ({ literal }) => inTypes.add(literal.start),
    Literal(node) {
      if (inTypes.has(node.start)) return;
      if (typeof node.value === 'number') replace(node, String(node.value + 1));
      if (typeof node.value === 'boolean') replace(node, String(!node.value));
    },
  }).visit(parseSync(file, source).program);
  return mutants;
}

const rangeSchema = z.object({ startOffset: z.number(), endOffset: z.number(), count: z.number() });
const coverageSchema = z.record(z.string(), z.array(rangeSchema));
const fileSchema = z.object({
  ...{ name: z.string(), status: z.string(), startTime: z.number(), endTime: z.number() },
});
const resultSchema = z.object({ testResults: z.array(fileSchema) });
const testSchema = z.object({
  ...{ name: z.string(), seconds: z.number(), isProcess: z.boolean() },
  coverage: coverageSchema,
});
type Range = z.infer<typeof rangeSchema>;
type Test = z.infer<typeof testSchema>;
/**
 * Whether a place was executed, as the innermost range around it says. Undefined if there is none: what a module executes
 * when it is loaded has no range, nor has a function that has never been called.
 */
function executes(ranges: Range[], { start, end }: Span): boolean | undefined {
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset;
  const [innermost] = ranges
    .filter(({ startOffset, endOffset }) => startOffset <= start && end <= endOffset)
    .sort((one, other) => size(one) - size(other));
  return innermost && innermost.count > 0;
}

const { values: options } = parseArgs({
  options: {
    files: { type: 'string', multiple: true, default: ['src'] },
    sample: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: '1' },
  },
});
const print = (line: string) => process.stdout.write(`${line}\n`);
const { stdout } = spawnSync('git', ['ls-files', '-zco', '--exclude-standard']);
const files = String(stdout).split('\0').filter(fs.existsSync);

/** Copies the project into a folder that exists until the end. */
function createCopy(): string {
  const copy = fs.mkdtempSync(join(tmpdir(), 'mutate-'));
  // Processes of the last tests may still write there.
  process.once('exit', () => fs.rmSync(copy, { recursive: true, force: true, maxRetries: 5 }));
  for (const file of files) fs.cpSync(file, join(copy, file));
  fs.symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Runs test files in a copy. The status is 0 if they pass, and 124 if they do not end in so many seconds. */
async function runTests(copy: string, args: string[], seconds: number, more = {}) {
  const env = { ...process.env, ...more };
  // This command of GNU coreutils also ends the processes that tests have started.
  const command = ['--kill-after=5', String(seconds), 'npm', 'test', '--', ...args];
  const child = spawn('timeout', command, { cwd: copy, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const [output, [status]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  const failed = [...output.matchAll(/^FAIL (\S+)/gm)].map(([, name]) => name);
  return { status: Number(status), failed: [...new Set(failed)] };
}

/** Runs test files with coverage. Returns those that pass, and the names of those that fail. */
async function runCovered(copy: string, paths: string[]) {
  const output = join(copy, 'result.json');
  const environment = join(copy, 'test/support/coverage-environment.js');
  const args = ['--json', `--outputFile=${output}`, `--env=${environment}`, ...paths];
  // What V8 has compiled before has no coverage of blocks.
  await runTests(copy, args, 1800, { COVERAGE_FOLDER: copy, NODE_DISABLE_COMPILE_CACHE: '1' });
  const { testResults } = resultSchema.parse(JSON.parse(fs.readFileSync(output, 'utf8')));
  const tests: Test[] = [];
  const failed: string[] = [];
  for (const { name: path, status, startTime, endTime } of testResults) {
    const name = relative(copy, path);
    if (status !== 'passed') {
      failed.push(name);
      continue;
    }
    const text = fs.readFileSync(join(copy, `${encodeURIComponent(path)}.json`), 'utf8');
    const paths = text.replaceAll(`${pathToFileURL(copy).href}/`, '');
    const coverage = coverageSchema.parse(JSON.parse(paths));
    const isProcess = startsProcesses.test(fs.readFileSync(path, 'utf8'));
    tests.push({ name, seconds: (endTime - startTime) / 1000, isProcess, coverage });
  }
  return { tests, failed };
}

const cache = 'node_modules/.cache/mutate.json';
const cacheSchema = z.object({ key: z.string(), tests: z.array(testSchema) });
/** The test files that pass, at the second attempt at the latest, with their coverage. */
async function coveredTests(copy: string): Promise<Test[]> {
  const key = hash('sha1', files.map((file) => file + hash('sha1', fs.readFileSync(file))).join());
  if (fs.existsSync(cache)) {
    const last = cacheSchema.parse(JSON.parse(fs.readFileSync(cache, 'utf8')));
    if (last.key === key) return last.tests;
  }
  const { tests, failed } = await runCovered(copy, []);
  const again = failed.length > 0 ? await runCovered(copy, failed) : { tests: [], failed };
  for (const name of again.failed) print(`${name} fails without a fault`);
  tests.push(...again.tests);
  fs.writeFileSync(cache, JSON.stringify({ key, tests }));
  return tests;
}

function describe({ file, source, start, end, text }: Mutant): string {
  const { length } = source.slice(0, start).split('\n');
  return `${file}:${length}: ${source.slice(start, end).trim()} -> ${text.trim()}`;
}

/** All test files, in the order in which they may find a fault, and in batches that grow: most faults are found soon. */
function batchesFor(mutant: Mutant, tests: Test[]): Test[][] {
  const beside = dirname(mutant.file)
    .replace(/^packages\/client\/src/, 'test/client')
    .replace(/^src/, 'test');
  // The tests beside the file find most faults.
  const time = ({ name, seconds }: Test) => seconds / (dirname(name) === beside ? 10 : 1);
  const rank = ({ coverage, isProcess }: Test) => {
    const ranges = coverage[mutant.file];
    const isExecuted = ranges ? executes(ranges, mutant) : false;
    if (isExecuted) return 0;
    return isExecuted === undefined || isProcess ? 1 : 2;
  };
  const left = tests.toSorted((a, b) => rank(a) - rank(b) || time(a) - time(b));
  const batches: Test[][] = [];
  for (let size = 4; left.length > 0; size *= 2) batches.push(left.splice(0, size));
  return batches;
}

/** What finds a fault: a test file, or that the tests do not end. Undefined if all tests pass with the fault. */
async function findingOf(mutant: Mutant, copy: string, tests: Test[]): Promise<string | undefined> {
  const { file, source, start, end, text } = mutant;
  const target = join(copy, file);
  fs.writeFileSync(target, source.slice(0, start) + text + source.slice(end));
  try {
    for (const batch of batchesFor(mutant, tests)) {
      // A busy machine takes longer.
      const timeout = Math.ceil(60 + 3 * batch.reduce((sum, { seconds }) => sum + seconds, 0));
      const names = batch.map(({ name }) => name);
      const args = ['--bail', '--maxWorkers=2', ...names];
      const { status, failed } = await runTests(copy, args, timeout);
      if (status === 124) return `tests that do not end within ${timeout} s`;
      if (status !== 0) return failed.join(', ') || 'tests that do not start';
    }
  } finally {
    fs.writeFileSync(target, source);
  }
}

const mutants = files
  .filter((file) => file.endsWith('.ts') && options.files.some((one) => file.startsWith(one)))
  .flatMap(mutantsOf)
  .map((mutant) => ({ ...mutant, order: hash('sha1', options.seed + describe(mutant)) }))
  .sort((one, other) => (one.order < other.order ? -1 : 1));
const sample = mutants.slice(0, Number(options.sample));
// Two faults are tried at a time, each in a copy of its own.
const copies = [createCopy(), createCopy()] as const;
const tests = await coveredTests(copies[0]);
print(`${sample.length} of ${mutants.length} faults, ${tests.length} test files`);
const queue = sample.values();
const survivors: Mutant[] = [];
await Promise.all(
  copies.map(async (copy) => {
    for (const mutant of queue) {
      const finding = await findingOf(mutant, copy, tests);
      if (finding === undefined) survivors.push(mutant);
      print(`${finding ? `found by ${finding}` : 'SURVIVES'}: ${describe(mutant)}`);
    }
  }),
);
print(`${survivors.length} of ${sample.length} survive`);
