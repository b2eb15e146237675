import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { closeAll } from '../testkit/cleanup.ts';
import { countCalls, listOfCalls, tableOfCalls } from './calls.ts';
import { keepOffGateway } from './children.ts';
import { compare, type Pace } from './compare.ts';
import { writePage } from './page.ts';
import { createCredentials, ours, type Peer, peers } from './peers.ts';
import { quick, type Suite, selectSuites } from './suites.ts';
import { tableOf } from './table.ts';

/** `npm run bench -- [options]`. README.md explains the options and columns. */
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    peers: { type: 'string' },
    services: { type: 'string' },
    against: { type: 'string' },
    with: { type: 'string', multiple: true, default: [] },
    calls: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

// npm runs this in the folder of the package; paths are relative to the folder of the command.
const resolvePath = (path: string) => resolve(process.env.INIT_CWD ?? '', path);
const print = (text: string) => process.stdout.write(`${text}\n`);

const end = (code: number) => closeAll().finally(() => process.exit(code));
process.on('uncaughtException', ({ message }) => {
  process.stderr.write(`${message}\n`);
  end(1);
});
process.on('SIGINT', () => end(130));
process.on('SIGTERM', () => end(143));
setTimeout(() => {
  throw new Error('The benchmark did not finish within three hours');
}, 3 * 3_600_000).unref();

keepOffGateway();
process.setMaxListeners(0); // Each process that is started adds one.
const credentials = await createCredentials();
process.once('exit', credentials.remove);
const machine = `${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.versions.node}`;
const date = new Date().toISOString().slice(0, 10);
print(`${date}, ${machine}`);
if (options.calls) {
  const others = peers.filter(({ name }) => options.peers?.split(',').includes(name));
  const results = await countCalls([...withOther(ours), ...others], credentials);
  for (const result of results) print(tableOfCalls(result));
  if (options.list) for (const result of results) print(listOfCalls(result));
} else {
  for (const suite of selectSuites(options.only)) await run(suite);
}

/** Measures a suite, and prints all tables of each group when it ends. */
async function run(suite: Suite): Promise<void> {
  const pace = options.quick ? quick(suite.pace) : suite.pace;
  const names = options.peers?.split(',');
  const compared = suite.peers
    .filter(({ name }) => names?.includes(name) ?? true)
    .flatMap((peer) => (peer.isOurs ? withOther(peer) : [peer]));
  if (compared.length === 0) throw new Error(`Known peers: ${suite.peers.map(({ name }) => name)}`);
  const services = options.services?.split(',');
  const groups = suite.groups.filter(({ service }) => services?.includes(service.name) ?? true);
  if (groups.length === 0) return;
  print(`${sentenceOf(pace)} In parentheses: the quartiles of the rounds' ratios.`);
  const results = [];
  for (const group of groups) {
    const found = await compare(group, compared, credentials, pace);
    for (const result of found) print(tableOf(result));
    results.push(...found);
  }
  print(suite.page(results));
  if (options.write && suite.name !== '') {
    const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`;
    const text = `Measured on ${date} (${machine}). ${sentenceOf(pace)} \`${command}\``;
    writePage(suite, results, text);
  }
}

/** A gateway, after the one that it is compared with, if there is one: of another checkout, or with other variables. */
function withOther(peer: Peer): Peer[] {
  const { against, with: variables } = options;
  const title = [...(against === undefined ? [] : [against]), ...variables].join(', ');
  if (title === '') return [peer];
  const main = against && pathToFileURL(resolvePath(join(against, 'src/main.ts')));
  const other = {
    ...peer,
    name: peer === ours ? 'other' : `${peer.name}-other`,
    title: peer === ours ? title : `${peer.title}, ${title}`,
    entry: main || peer.entry,
    variables: Object.fromEntries(variables.map((text) => text.split(/=(.*)/s, 2))),
  };
  return [other, peer];
}

function sentenceOf({ starts, rounds, round }: Pace): string {
  const short = options.quick
    ? ' The warm-up and the rounds were short: look at the quartiles.'
    : '';
  return `Medians of ${starts * rounds} rounds of about ${round} s (starts: ${starts}).${short}`;
}
