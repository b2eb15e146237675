import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from './table.ts';
import { requestOf, workloadNamed } from './workloads.ts';

/** A job for the process that creates the load of a crowd. */
export type CrowdJob = {
  workload: string;
  origin: string;
  token: string;
  seconds: number;
  /** A closed loop with this many connections, or an open loop with this many requests per second. */
  load: { connections: number } | { perSecond: number };
};

export type CrowdLoad = {
  /** Responses per second with data, after the onset. In an open loop, those within the deadline. */
  servedPerSecond: number;
  /** Requests in all, including the onset: with data, with an error, without a response. */
  served: number;
  rejected: number;
  lost: number;
  /** Of responses with data, from the time at which the request was due. In a closed loop, after the onset. */
  p50Ms: number;
  p99Ms: number;
};

/** The deadline of a request in an open loop, in milliseconds: the default of UPSTREAM_TIMEOUT_MS. */
const DEADLINE_MS = 10_000;
/** The start of a load that is not counted: in a closed loop, connections are opened in it. */
const ONSET_MS = 1000;
/**
 * The connections of an open loop: more than one caller can have waiting. They are open before the load starts, because
 * Node accepts only one in each iteration of its event loop. A request that finds all of them in use waits.
 */
const OPEN_LOOP_CONNECTIONS = 4000;
/** How many of them are opened at a time, so that the shortest backlog holds them, and the pause in milliseconds. */
const OPENED_AT_ONCE = 100;
const OPENING_PAUSE_MS = 20;
/** Different requests. */
const VARIETY = 1024;

const endOfHead = Buffer.from('\r\n\r\n');
const errors = Buffer.from('"errors":');

/** One keep-alive connection that has at most one request. A plain socket, because it must be cheap. */
class Connection {
  readonly #socket: Socket;
  readonly #onResponse: (connection: Connection, dueAt: number, isServed: boolean) => void;
  #received: Buffer = Buffer.alloc(0);
  #dueAt = 0;

  constructor(
    origin: URL,
    onResponse: (connection: Connection, dueAt: number, isServed: boolean) => void,
    onClose: (connection: Connection, isLost: boolean) => void,
  ) {
    this.#onResponse = onResponse;
    this.#socket = connect(Number(origin.port), origin.hostname).setNoDelay();
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => onClose(this, this.#dueAt > 0));
  }

  send(request: Buffer, dueAt: number): void {
    this.#dueAt = dueAt;
    this.#socket.write(request);
  }

  get isBusy(): boolean {
    return this.#dueAt > 0;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = this.#received.indexOf(endOfHead);
    if (end < 0) return;
    const head = this.#received.toString('latin1', 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) throw new Error(`A response without a length: ${head}`);
    const start = end + endOfHead.length;
    if (this.#received.length < start + Number(length)) return;
    const isServed = head.startsWith('200', 9) && !this.#received.includes(errors, start);
    const dueAt = this.#dueAt;
    this.#received = Buffer.alloc(0);
    this.#dueAt = 0;
    this.#onResponse(this, dueAt, isServed);
  }
}

/** Runs a load, and stops it after its duration. */
async function run({ workload, origin, token, seconds, load }: CrowdJob): Promise<CrowdLoad> {
  const requests = createRequests(workload, origin, token);
  let start = 0;
  let end = Number.POSITIVE_INFINITY;
  const latencies: number[] = [];
  const counts = { inTime: 0, served: 0, rejected: 0, lost: 0 };
  const connections = new Set<Connection>();
  const idle: Connection[] = [];
  /** The times at which the requests without a connection were due. */
  const waiting: number[] = [];
  let firstWaiting = 0;
  let n = 0;
  const isOpen = 'perSecond' in load;
  const size = isOpen ? OPEN_LOOP_CONNECTIONS : load.connections;

  const send = (connection: Connection, dueAt: number) =>
    connection.send(requests[n++ % requests.length] as Buffer, dueAt);
  const open = () => {
    const connection = new Connection(new URL(origin), onResponse, onClose);
    connections.add(connection);
    return connection;
  };

  function onResponse(connection: Connection, dueAt: number, isServed: boolean): void {
    const now = performance.now();
    counts[isServed ? 'served' : 'rejected'] += 1;
    // Connections are opened one after another: at first, a request waits for its connection.
    if (isServed && (isOpen || dueAt >= start + ONSET_MS)) latencies.push(now - dueAt);
    const isInTime = isServed && (!isOpen || now - dueAt <= DEADLINE_MS);
    if (isInTime && now >= start + ONSET_MS && now < end) counts.inTime += 1;
    use(connection, now);
  }

  function onClose(connection: Connection, isLost: boolean): void {
    connections.delete(connection);
    if (isLost) counts.lost += 1;
    const index = idle.indexOf(connection);
    if (index >= 0) idle.splice(index, 1);
    if (connections.size < size && performance.now() < end) use(open(), performance.now());
  }

  /** Sends the next request, or keeps the connection for it. */
  function use(connection: Connection, now: number): void {
    const isWaiting = firstWaiting < waiting.length;
    if (isWaiting) send(connection, waiting[firstWaiting++] as number);
    else if (now >= end) connection.close();
    else if (isOpen) idle.push(connection);
    else send(connection, now);
  }

  /** Sends the requests that are due. */
  function sendDue(perSecond: number, due: { count: number }): void {
    const now = performance.now();
    for (; due.count < ((now - start) / 1000) * perSecond; due.count++) {
      const dueAt = start + (due.count / perSecond) * 1000;
      const connection = idle.shift(); // In rotation, so that none is idle for long.
      if (connection) send(connection, dueAt);
      else waiting.push(dueAt);
    }
  }

  while (isOpen && connections.size < size) {
    for (let one = 0; one < OPENED_AT_ONCE; one++) idle.push(open());
    await sleep(OPENING_PAUSE_MS);
  }
  if (isOpen) await sleep(ONSET_MS);
  start = performance.now();
  end = start + seconds * 1000;
  while (connections.size < size) use(open(), start);
  const due = { count: 0 };
  const timer = setInterval(
    () => isOpen && performance.now() < end && sendDue(load.perSecond, due),
    2,
  );
  await sleep(seconds * 1000);
  clearInterval(timer);
  const lastAnswer = performance.now() + DEADLINE_MS;
  const pending = () =>
    waiting.length - firstWaiting + [...connections].filter(({ isBusy }) => isBusy).length;
  while (performance.now() < lastAnswer && pending() > 0) await sleep(100);
  const lost = counts.lost + pending();
  for (const connection of connections) connection.close();
  const at = quantile(latencies.length > 0 ? latencies : [0]);
  return {
    servedPerSecond: counts.inTime / ((end - start - ONSET_MS) / 1000),
    served: counts.served,
    rejected: counts.rejected,
    lost,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

/** Requests as bytes, with different projects. */
function createRequests(workload: string, origin: string, token: string): Buffer[] {
  return Array.from({ length: VARIETY }, (_, n) => {
    const request = requestOf(workloadNamed(workload), 'graphql', token, n);
    const { method, path, headers, body = '' } = request;
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `host: ${new URL(origin).host}`,
      `content-length: ${Buffer.byteLength(body)}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ];
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
  });
}

process.on('message', async (job: CrowdJob) => {
  process.send?.(await run(job));
});
