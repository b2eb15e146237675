import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import type { Harness, Scenario } from '../harness.ts';
import { forEach } from '../load.ts';
import { succeed } from '../service.ts';
import { percentile, tally } from '../statistics.ts';

/** Pairs of a read and a write. Their log lines are more than a pipe and the gateway keep. */
const PAIRS = 2500;
const CLIENTS = 20;
const SHUTDOWN_TIMEOUT_MS = 3000;

/** A pipe to which the log is written and that nobody reads does not block the gateway. */
export const logReader: Scenario = {
  name: 'log-reader',
  async run(harness) {
    const service = await harness.startService(succeed);
    const gateway = await harness.startGateway(
      service,
      {
        LOG_LEVEL: 'info',
        SHUTDOWN_DELAY_MS: '0',
        SHUTDOWN_TIMEOUT_MS: String(SHUTDOWN_TIMEOUT_MS),
      },
      { stdout: createPipe(harness) },
    );
    const agent = keepAliveAgent(harness);
    const outcomes: string[] = [];
    const latencies: number[] = [];
    const send = async (query: string) => {
      const response = await post(gateway.url, harness.token, query, { agent });
      outcomes.push(outcomeOf(response));
      latencies.push(response.ms);
    };
    await forEach(
      CLIENTS,
      Array.from({ length: PAIRS }, (_, n) => n),
      async (n) => {
        await send(readQuery(`log-reader-${n}`));
        await send(writeMutation(`log-reader-${n}`));
      },
    );
    const dropped = await gateway.metric('ledger_gateway_log_lines_dropped_total');
    const start = performance.now();
    const exitCode = await gateway.stop();
    const ms = performance.now() - start;
    const served = outcomes.filter((outcome) => /^(GlCodeList|ApproversSaved)$/.test(outcome));
    return [
      {
        claim: `nobody reads the log: each of ${PAIRS * 2} requests is served`,
        measured: `${tally(outcomes)}; p99 ${percentile(latencies, 0.99).toFixed(0)} ms`,
        holds: served.length === PAIRS * 2,
      },
      {
        claim: 'the lines that were dropped are counted',
        measured: `${dropped} lines`,
        holds: dropped > 0,
      },
      {
        claim: `the process exits within SHUTDOWN_TIMEOUT_MS (${SHUTDOWN_TIMEOUT_MS} ms)`,
        measured: `exit code ${exitCode} after ${ms.toFixed(0)} ms`,
        holds: exitCode === 0 && ms <= SHUTDOWN_TIMEOUT_MS,
      },
    ];
  },
};

/** The file descriptor of a pipe that nobody reads. */
function createPipe(harness: Harness): number {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-stress-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  // For reading and writing, because opening it for one of them waits for the other.
  const fd = openSync(path, 'r+');
  harness.defer(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  return fd;
}
