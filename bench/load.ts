import autocannon from 'autocannon';
import { rotationOf, workloadNamed } from './workloads.ts';

/** What the load process is asked to do: a number of requests, of which none is left unanswered. */
export type Job = {
  workload: string;
  protocol: 'graphql' | 'bare';
  origin: string;
  token: string;
  requests: number;
};

export type Load = {
  /** Requests that were answered with 200. */
  served: number;
  /** All others, and connections that broke. */
  failed: number;
  /** From the first request to the last answer. */
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** The mean size of an answer, headers with it. */
  bytes: number;
};

/** The load: closed-loop, each connection sends its next request when its last one is answered. */
async function run(job: Job): Promise<Load> {
  const workload = workloadNamed(job.workload);
  const latencies: number[] = [];
  let failed = 0;
  let bytes = 0;
  let connection = 0;
  let last = 0;
  const start = performance.now();
  const instance = autocannon(
    {
      url: job.origin,
      connections: workload.connections,
      amount: job.requests,
      timeout: 60,
      sampleInt: 100,
      setupClient: (client) => {
        client.setRequests(rotationOf(workload, job.protocol, job.token, connection));
        connection += 1;
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
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    served: latencies.length,
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
