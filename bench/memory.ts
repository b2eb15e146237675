import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMb } from '../stress/process.ts';
import { send, stop } from './children.ts';
import { type Credentials, type Peer, type Service, startPeer } from './peers.ts';
import { measureStarts } from './starts.ts';
import { markdown, median } from './table.ts';
import { cheapRequest, type HttpRequest } from './workloads.ts';

/** How many idle connections, and how many tokens are measured. */
const [CONNECTIONS, TOKENS] = [1000, 1000];
/** How many requests are sent at the same time. */
const AT_ONCE = 20;

/** Resident memory of the idle process in MB, and what each connection and each token adds to the heap and its buffers, in KB. */
type Memory = { processMb: number; connectionKb: number; tokenKb: number };

export type MemoryResult = { peer: Peer; starts: Memory[] };

/** Measures the memory of idle gateways, of idle connections, and of tokens that the gateway remembers. */
export async function measureMemory(
  peers: readonly Peer[],
  gateway: URL,
  credentials: Credentials,
  starts: number,
): Promise<MemoryResult[]> {
  const tokens = Array.from({ length: TOKENS }, (_, n) => credentials.tokenOf(`caller-${n}`));
  const requests = (await Promise.all(tokens)).map((token) => cheapRequest('graphql', token));
  const results = peers.map((peer): MemoryResult => ({ peer, starts: [] }));
  await measureStarts(results, starts, ({ peer }, service) =>
    measureStart(peer, gateway, service, credentials, requests),
  );
  return results;
}

async function measureStart(
  peer: Peer,
  gateway: URL,
  service: Service,
  credentials: Credentials,
  requests: readonly HttpRequest[],
): Promise<Memory> {
  // Garbage of the process would count as memory of what was just opened. Nothing else uses this signal.
  const collect = 'data:text/javascript,process.on("SIGWINCH", () => gc());';
  const nodeArgs = ['--expose-gc', '--import', collect];
  const { child, origin } = await startPeer(peer, gateway, service, credentials, nodeArgs);
  const usual = cheapRequest('graphql', credentials.token);
  const collectGarbage = async () => {
    for (let n = 0; n < 3; n++) {
      child.process.kill('SIGWINCH');
      await sleep(500);
    }
  };
  // Resident memory does not grow while the heap has free pages.
  const usedKb = async () => {
    await collectGarbage();
    const { text } = await send(origin, { method: 'GET', path: '/metrics', headers: {} });
    const used = ['nodejs_heap_size_used_bytes', 'nodejs_external_memory_bytes'].map((name) =>
      Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]),
    );
    return used.reduce((sum, bytes) => sum + bytes, 0) / 1024;
  };
  await collectGarbage();
  const processMb = residentMb(child.pid);
  // What many requests leave behind is neither of the connections nor of the tokens.
  const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
  await sendAll(origin, Array(5 * TOKENS).fill(usual), () => agent);
  const before = await usedKb();
  await sendAll(origin, requests, () => agent);
  const withTokens = await usedKb();
  const agents = Array.from({ length: CONNECTIONS }, () => new http.Agent({ keepAlive: true }));
  await sendAll(origin, Array(CONNECTIONS).fill(usual), (n) => agents[n]);
  const withConnections = await usedKb();
  for (const each of [agent, ...agents]) each.destroy();
  await stop(child);
  return {
    processMb,
    tokenKb: (withTokens - before) / TOKENS,
    connectionKb: (withConnections - withTokens) / CONNECTIONS,
  };
}

/** Sends requests, some of them at the same time, each with the agent for its number. */
async function sendAll(
  origin: string,
  requests: readonly HttpRequest[],
  agentFor: (n: number) => http.Agent | undefined,
): Promise<void> {
  const queue = requests.entries();
  const work = async () => {
    for (const [n, request] of queue) {
      const { status, text } = await send(origin, request, agentFor(n));
      if (status !== 200) throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** A table of the memory: medians over the starts. */
export function tableOfMemory(results: readonly MemoryResult[]): string {
  const rows = results.map(({ peer, starts }) => {
    const middle = (of: keyof Memory) => median(starts.map((one) => one[of])).toFixed(1);
    return [peer.title, middle('processMb'), middle('connectionKb'), middle('tokenKb')];
  });
  const head = ['', 'idle process, MB', 'idle connection, KB', 'remembered token, KB'];
  return `\n${markdown([head, ...rows])}\n`;
}
