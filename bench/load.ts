import { createHistogram } from 'node:perf_hooks';
import autocannon from 'autocannon';
import { type Job, rotationOf } from './workloads.ts';

export type Load = {
  /** Responses with data. */
  served: number;
  /** Responses with errors or a 503. */
  rejected: number;
  /** Other responses, and failed connections. */
  failed: number;
  /** From the first request to the last response. */
  seconds: number;
  /** Of responses with data. */
  p50Ms: number;
  p99Ms: number;
};

const ERRORS = '"errors":[';

/** How many requests each server got so far. The next job continues their rotation. */
const sent = new Map<string, number>();

/** Runs a closed loop: each connection sends its next request when the last one has its response. */
async function run(job: Job): Promise<Load> {
  const offset = sent.get(job.origin) ?? 0;
  sent.set(job.origin, offset + job.requests);
  const latencies = createHistogram(); // In microseconds.
  let rejected = 0;
  let failed = 0;
  let connection = 0;
  let start = 0;
  let last = 0;
  const instance = autocannon(
    {
      url: `${job.origin}/graphql`,
      method: 'POST',
      connections: job.connections,
      amount: job.requests,
      timeout: 60,
      sampleInt: 100,
      setupClient: (client) => {
        client.setRequests(rotationOf(job, connection, offset));
        connection += 1;
        start = performance.now();
        let hasErrors = false;
        client.on('body', (chunk) => {
          hasErrors ||= chunk.includes(ERRORS);
        });
        client.on('response', (status, _bytes, ms) => {
          last = performance.now();
          if (status === 503 || (status === 200 && hasErrors)) rejected += 1;
          else if (status === 200) latencies.record(Math.ceil(ms * 1000));
          else failed += 1;
          hasErrors = false;
        });
      },
    },
    () => {},
  );
  instance.on('reqError', () => {
    failed += 1;
  });
  await new Promise((resolve) => instance.on('done', resolve));
  const msAt = (percent: number) => latencies.percentile(percent) / 1000;
  const seconds = (last - start) / 1000;
  const counts = { served: latencies.count, rejected, failed };
  return { ...counts, seconds, p50Ms: msAt(50), p99Ms: msAt(99) };
}

process.on('message', async (job: Job) => {
  process.send?.(await run(job));
});
