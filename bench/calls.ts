import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { endProcess } from '../testkit/child-process.ts';
import type { Counted } from './call-counter.ts';
import { reply, send } from './children.ts';
import { type Credentials, type Peer, startPeer, startService } from './peers.ts';
import { markdown, median } from './table.ts';
import { codesOf, requestOf, workloadNamed } from './workloads.ts';

const WARM_REQUESTS = 300;
/** How often a request is counted. What is not part of each, such as a timer, is not in the median. */
const TIMES = 15;
/** What follows a response belongs to it. In milliseconds. */
const SETTLED_MS = 50;

const countings = [
  { title: 'write with a new key', workload: workloadNamed('workflow-action-keyed') },
  { title: 'read of one code', workload: codesOf(1) },
  { title: 'read of 20 codes', workload: codesOf(20) },
];

/** A function of the gateway, and how often one request enters it. */
export type Entered = { file: string; line: number; name: string; count: number };

export type CallsResult = {
  title: string;
  peers: { peer: Peer; functions: Entered[]; promises: number }[];
};

/** Counts what one request calls, in each peer. */
export async function countCalls(
  peers: readonly Peer[],
  credentials: Credentials,
): Promise<CallsResult[]> {
  const results: CallsResult[] = countings.map(({ title }) => ({ title, peers: [] }));
  const service = await startService();
  for (const peer of peers) {
    const counter = fileURLToPath(new URL('call-counter.ts', import.meta.url));
    const options = { nodeArgs: ['--import', counter], ipc: true };
    const { child, origin } = await startPeer(peer, service, credentials, options);
    const message = async <Answer>(): Promise<Answer> => {
      child.process.send('next');
      return reply<Answer>(child);
    };
    for (const [index, { workload }] of countings.entries()) {
      const sendNth = async (n: number) => {
        const request = requestOf(workload, credentials.token, n);
        const { status, text } = await send(origin, request);
        if (status !== 200) throw new Error(text);
      };
      for (let n = 0; n < WARM_REQUESTS; n++) await sendNth(n);
      const counted: Counted[] = [];
      for (let n = 0; n < TIMES; n++) {
        await message();
        await sendNth(n);
        await sleep(SETTLED_MS);
        counted.push(await message<Counted>());
      }
      const root = new URL('..', peer.entry);
      const functions = mediansOf(counted, fileURLToPath(root));
      const promises = median(counted.map((one) => one.promises));
      results[index]?.peers.push({ peer, functions, promises });
    }
    await endProcess(child.process);
  }
  await endProcess(service.child.process);
  return results;
}

/** How often each function of the gateway is entered, in the order of files and lines. */
function mediansOf(counted: readonly Counted[], root: string): Entered[] {
  const functions = counted.flatMap((one) => one.functions);
  const groups = Map.groupBy(functions, ({ file, offset }) => `${file}:${offset}`);
  const entered = Array.from(groups.values(), (same): Entered => {
    const [{ file, name, offset } = { file: '', name: '', offset: 0 }] = same;
    const counts = [
      ...same.map(({ count }) => count),
      ...Array(counted.length - same.length).fill(0),
    ];
    const line = readFileSync(file, 'utf8').slice(0, offset).split('\n').length;
    return { file: relative(root, file), line, name: name || '(anonymous)', count: median(counts) };
  });
  return entered
    .filter(({ file, count }) => count > 0 && /^(src|packages)\//.test(file))
    .sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

/** How often functions are entered, by folder, with the numbers of functions and files. */
export function tableOfCalls({ title, peers }: CallsResult): string {
  const ours = peers.filter(({ functions }) => functions.length > 0);
  const folders = [...new Set(ours.flatMap(({ functions }) => functions.map(folderOf)))].sort();
  const row = (name: string, of: (functions: Entered[]) => number) => [
    name,
    ...ours.map(({ functions }) => String(of(functions))),
  ];
  const rows = [
    row('functions called', callsOf),
    ...folders.map((folder) =>
      row(`  ${folder}`, (all) => callsOf(all.filter((one) => folderOf(one) === folder))),
    ),
    row('different functions', (all) => all.length),
    row('files', (all) => new Set(all.map(({ file }) => file)).size),
  ];
  const promises = peers.map(({ peer, promises }) => `${promises} (${peer.title})`).join(', ');
  const head = ['', ...ours.map(({ peer }) => peer.title)];
  return `\n### One ${title}\n\n${markdown([head, ...rows])}\n\nPromises: ${promises}\n`;
}

/** Every function that a request enters, in the order of files and lines. */
export function listOfCalls({ title, peers }: CallsResult): string {
  const functions = peers.find(({ peer }) => peer.name === 'ours')?.functions ?? [];
  const lines = functions.map(
    ({ file, line, name, count }) => `${String(count).padStart(4)}  ${file}:${line}  ${name}`,
  );
  return `\n### One ${title}\n\n${lines.join('\n')}\n`;
}

const callsOf = (functions: readonly Entered[]) =>
  functions.reduce((sum, { count }) => sum + count, 0);

const folderOf = ({ file }: Entered) => file.split('/').slice(0, -1).slice(0, 2).join('/');
