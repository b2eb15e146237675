import autocannon from 'autocannon';
import { quantile } from './table.ts';
import { type Protocol, rotationOf, workloadNamed } from './workloads.ts';

/** A job for the load process: a number of requests, all of which are awaited. */
export type Job = {
  workload: string;
  protocol: Protocol;
  origin: string;
  /** The tokens of the callers, whose requests follow each other in turn. */
  tokens: readonly string[];
  connections: number;
  requests: number;
};

export type Load = {
  /** Requests with any response. */
  completed: number;
  /** Responses other than 200, and failed connections. */
  failed: number;
  /** From the first request to the last response. */
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** The mean size of a response, including headers. */
  bytes: number;
};

/** How many requests each server got so far. The next job continues their rotation. */
const sent = new Map<string, number>();

/** Runs a closed loop: each connection sends its next request when the last one has its response. */
async function run(job: Job): Promise<Load> {
  const workload = workloadNamed(job.workload);
  const offset = sent.get(job.origin) ?? 0;
  sent.set(job.origin, offset + job.requests);
  const latencies: number[] = [];
  let failed = 0;
  let bytes = 0;
  let connection = 0;
  let start = 0;
  let last = 0;
  const instance = autocannon(
    {
      url: job.origin,
      connections: job.connections,
      amount: job.requests,
      timeout: 60,
      sampleInt: 100,
      setupClient: (client) => {
        client.setRequests(rotationOf(workload, job, connection, offset));
        connection += 1;
        start = performance.now();
      },
    },
    () => {},
  );
  instance.on('response', (_client, status, size, ms) => {
    last = performance.now();
    if (status !== 200) failed += 1;
    bytes += size;
    latencies.push(ms);
  });
  instance.on('reqError', () => {
    failed += 1;
  });
  await new Promise((resolve) => instance.on('done', resolve));
  const at = quantile(latencies);
  return {
    completed: latencies.length,
    failed,
    seconds: (last - start) / 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    bytes: bytes / latencies.length,
  };
}

process.on('message', async (job: Job) => {
  process.send?.(await run(job));
});
