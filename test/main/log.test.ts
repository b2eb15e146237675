import { execFileSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { environmentFor } from '../../testkit/environment.ts';
import { eventually } from '../../testkit/eventually.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';
import { metric } from '../../testkit/metric.ts';
import { freePort } from '../../testkit/port.ts';
import { startProcess } from '../../testkit/process.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';

/** A process that logs lines of 300 characters at once, reports how many were dropped, and 300 more when it exits. */
const logger = `
import { createLog, LogOutput } from './src/telemetry/log.ts';
const output = new LogOutput();
const log = createLog('info', output);
const text = 'x'.repeat(250);
for (let n = 0; n < Number(process.argv[1]); n++) log.info({ n, text }, 'line');
process.once('SIGTERM', () => {
  for (let n = 0; n < 300; n++) log.info({ n, text }, 'last');
  process.exit(0);
});
setInterval(() => {}, 1000);
process.stderr.write(String(output.dropped));
`;

const argsOf = (lines: number) => ['--input-type=module-typescript', '-e', logger, `${lines}`];

/** How many lines a logger has dropped, when it has logged all. */
const droppedBy = (child: ReturnType<typeof startProcess>) =>
  eventually(async () => {
    expect(child.errorText()).toMatch(/^\d+$/);
    return Number(child.errorText());
  });

/** Starts the logger with a pipe as its standard output, and waits until it has logged. Nobody reads until `read`. */
async function startLogger(lines: number) {
  const path = join(await temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  // For reading and writing, because opening it for one of them waits for the other.
  const fd = openSync(path, 'r+');
  const reader = new Socket({ fd, writable: false });
  closeAfterTest(() => reader.destroy());
  const child = startProcess(argsOf(lines), { stdout: fd });
  const dropped = await droppedBy(child);
  const log = createLogRecorder();
  return {
    dropped,
    reader,
    read() {
      createInterface(reader).on('line', log.add);
      return log;
    },
    /** Ends the process, and returns its exit code. */
    async stop() {
      child.signal('SIGTERM');
      return (await child.exited).code;
    },
  };
}

// The scenario log-reader in stress/ has a gateway under load whose log is not read.

test('with a reader that stops reading, lines are dropped, counted and logged, and do not delay the exit', async () => {
  const { dropped, reader, read, stop } = await startLogger(6000);
  expect(dropped).toBeGreaterThan(0);
  const line = await read().line({ msg: 'log lines dropped' });
  expect(line).toMatchObject({ level: 40, dropped });
  reader.pause();
  expect(await stop()).toBe(0);
});

test('a reader that is slow gets every line, in order', async () => {
  const { dropped, reader, read, stop } = await startLogger(3000);
  expect(dropped).toBe(0);
  const log = read();
  for (let n = 0; n < 5; n++) {
    reader.pause(); // The pipe is full at once.
    await new Promise((resolve) => setTimeout(resolve, 20));
    reader.resume();
    await log.line({ msg: 'line', n: n * 600 });
  }
  await log.line({ msg: 'line', n: 2999 });
  expect(await stop()).toBe(0);
  await log.line({ msg: 'last', n: 299 });
  expect(log.lines.map(({ n }) => n)).toEqual([...Array(3000).keys(), ...Array(300).keys()]);
});

test('a process whose log is a closed pipe goes on, and exits with 0', async () => {
  const child = startProcess(argsOf(6000));
  child.closeStdout();
  expect(await droppedBy(child)).toBeGreaterThan(0);
  child.signal('SIGTERM');
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('a gateway whose log is a full disk serves requests, measures the lines that it holds, and exits with 0 after SIGINT', async () => {
  const disk = await open('/dev/full', 'w');
  closeAfterTest(() => disk.close());
  const port = String(await freePort());
  const child = startProcess(['src/main.ts'], {
    env: await environmentFor({ url: 'http://127.0.0.1:1/' }, { PORT: port, LOG_LEVEL: 'info' }),
    stdout: disk.fd,
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(`${url}/livez`));
  for (let n = 0; n < 20; n++) expect((await fetch(`${url}/nothing`)).status).toBe(404);
  const held = await metric({ url }, 'ledger_gateway_log_held_bytes');
  expect(held).toBeGreaterThan(20 * 100);
  child.signal('SIGINT');
  expect(await child.exited).toEqual({ code: 0, signal: null });
});
