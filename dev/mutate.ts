import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { parseSync, Visitor } from 'oxc-parser';
import { z } from 'zod';

/*
 * Mutation testing: puts single faults into a copy of the project, and prints those with which the tests still pass.
 *   npm run mutate -- --files src/idempotency [--sample 60] [--seed 1]
 * V8's block coverage (test/support/coverage-environment.js) tells which test files execute the place of a fault. They
 * run first, then those that start processes or threads, whose coverage is not known, and last all others.
 */
const startsProcesses =
  /testkit\/(client-faults|gateway-process|postgres|process|redis)\.ts|node:worker_threads/;
const swapped: Record<string, string> = {
  ...{ '&&': '||', '||': '&&', '??': '&&', '===': '!==', '!==': '===', '+': '-', '-': '+' },
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '*': '/', '/': '*' },
};
type Span = { start: number; end: number };
type Mutant = Span & { file: string; text: string };

/** The faults that can be put into a file: each replaces a span of it by a text. */
function mutantsOf(file: string): Mutant[] {
  const source = readFileSync(file, 'utf8');
  const mutants: Mutant[] = [];
  const inTypes = new Set<number>();
  const textOf = ({ start, end }: Span) => source.slice(start, end);
  const replace = ({ start, end }: Span, text: string) => mutants.push({ file, start, end, text });
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
    ReturnStatement: (node) => node.argument && replace(node, 'return;'),
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
const testSchema = z.object({
  ...{ name: z.string(), status: z.string() },
  ...{ startTime: z.number(), endTime: z.number() },
});
const resultSchema = z.object({ testResults: z.array(testSchema) });
type Range = z.infer<typeof rangeSchema>;
/** Whether a place was executed, as the innermost range around it says. The first one, the module itself, runs only once. */
function executes(ranges: Range[] = [], { start, end }: Span): boolean {
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset;
  const [innermost] = ranges
    .filter(({ startOffset, endOffset }) => startOffset <= start && end <= endOffset)
    .sort((one, other) => size(one) - size(other));
  return innermost !== undefined && (innermost.count > 0 || innermost === ranges[0]);
}

const { values: options } = parseArgs({
  options: {
    files: { type: 'string', multiple: true, default: ['src'] },
    sample: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: '1' },
  },
});
const print = (line: string) => process.stdout.write(`${line}\n`);
const copy = mkdtempSync(join(tmpdir(), 'mutate-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
const { stdout } = spawnSync('git', ['ls-files', '-zco', '--exclude-standard']);
const files = String(stdout).split('\0').filter(Boolean);
for (const file of files) cpSync(file, join(copy, file));
symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));

/** Runs test files in the copy. `status` is 0 if they pass, and 124 if they do not end in so many seconds. */
function runTests(args: string[], seconds: number, more = {}) {
  const env = { ...process.env, ...more };
  // This command of GNU coreutils also ends the processes that tests have started.
  const command = ['--kill-after=5', String(seconds), 'npm', 'test', '--', ...args];
  return spawnSync('timeout', command, { cwd: copy, env, stdio: 'ignore' });
}

/** Runs tests with coverage. */
function runCovered(paths: string[]) {
  const output = join(copy, 'result.json');
  const environment = join(copy, 'test/support/coverage-environment.js');
  const args = ['--json', `--outputFile=${output}`, `--env=${environment}`, ...paths];
  // What V8 has compiled before has no coverage of blocks.
  runTests(args, 1800, { COVERAGE_FOLDER: copy, NODE_DISABLE_COMPILE_CACHE: '1' });
  return resultSchema.parse(JSON.parse(readFileSync(output, 'utf8'))).testResults;
}
const first = runCovered([]);
const failed = first.flatMap(({ name, status }) => (status === 'passed' ? [] : [name]));
const results = failed.length > 0 ? [...first, ...runCovered(failed)] : first;
const passed = results.filter(({ status }) => status === 'passed');
const tests = passed.map(({ name, startTime, endTime }) => {
  const text = readFileSync(join(copy, `${encodeURIComponent(name)}.json`), 'utf8');
  const isProcess = startsProcesses.test(readFileSync(name, 'utf8'));
  const seconds = (endTime - startTime) / 1000;
  return { name, coverage: coverageSchema.parse(JSON.parse(text)), isProcess, seconds };
});
function describe({ file, start, end, text }: Mutant): string {
  const source = readFileSync(file, 'utf8');
  const { length } = source.slice(0, start).split('\n');
  return `${file}:${length}: ${source.slice(start, end).trim()} -> ${text.trim()}`;
}

/** Whether the tests pass with a fault. */
function survives(mutant: Mutant): boolean {
  const { file, start, end, text } = mutant;
  const source = readFileSync(file, 'utf8');
  const target = join(copy, file);
  writeFileSync(target, source.slice(0, start) + text + source.slice(end));
  const url = pathToFileURL(target).href;
  const beside = dirname(target).replace(/\/src\b/, '/test');
  const covers = ({ coverage }: (typeof tests)[number]) => executes(coverage[url], mutant);
  // The tests beside the file find most faults, and take least.
  const runs = Object.groupBy(tests, (one) => {
    if (covers(one)) return Number(dirname(one.name) !== beside);
    return one.isProcess ? 2 : 3;
  });
  const passes = [0, 1, 2, 3].every((step) => {
    const run = runs[step] ?? [];
    if (run.length === 0) return true;
    // A busy machine takes longer.
    const timeout = Math.ceil(60 + 3 * run.reduce((sum, { seconds }) => sum + seconds, 0));
    const { status } = runTests(['--bail', ...run.map(({ name }) => name)], timeout);
    if (status === 124) print(`The tests do not end with ${describe(mutant)}`);
    return status === 0;
  });
  writeFileSync(target, source);
  return passes;
}
const mutants = files
  .filter((file) => file.endsWith('.ts') && options.files.some((one) => file.startsWith(one)))
  .flatMap(mutantsOf)
  .map((mutant) => ({ ...mutant, order: hash('sha1', options.seed + JSON.stringify(mutant)) }))
  .sort((one, other) => (one.order < other.order ? -1 : 1));
const sample = mutants.slice(0, Number(options.sample));
print(
  `${sample.length} of ${mutants.length} faults, ${tests.length} of ${first.length} test files`,
);
const survivors = sample.filter((mutant, index) => {
  process.stderr.write(`${index} of ${sample.length} tried\r`);
  return survives(mutant) && print(describe(mutant));
});
print(`${survivors.length} of ${sample.length} survive`);
