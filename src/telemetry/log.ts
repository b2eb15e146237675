import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { currentState, traceFieldsOf } from '../request-state.ts';
import { activeSpanId } from './tracing.ts';

/** Milliseconds between attempts to write what was not accepted. A pipe holds only 64 KB. */
const RETRY_MS = 10;

/**
 * Writes lines to standard output or a file in batches, and never waits for a reader or for room. Node's asynchronous writes
 * would occupy a thread that a pipe without a reader blocks forever. `pino.destination` waits for a reader before it calls
 * back, stops counting after a broken pipe, and blocks the exit on a full disk (docs/decisions/0025).
 */
export class LogOutput {
  #fd: number;
  #lines = '';
  #unwritten = Buffer.alloc(0);
  /** The beginning of the first of these lines, if a part of it was accepted. */
  #begun = Buffer.alloc(0);
  #retry: NodeJS.Timeout | undefined;
  /** The number of lines that were dropped because the output did not accept them. */
  dropped = 0;
  #reported = 0;

  /** @param fd a file descriptor: of standard output, or of a file that is open for appending */
  constructor(fd = 1) {
    this.#fd = fd;
    // Node sets a pipe or a socket to non-blocking mode when this property is first read.
    if (fd === 1) void process.stdout;
  }

  /** Writes to another file from now on, and what is held to it, too. No line is split between the two. */
  switchTo(fd: number): void {
    this.#fd = fd;
    this.#unwritten = Buffer.concat([this.#begun, this.#unwritten]);
    this.#begun = Buffer.alloc(0);
  }

  /** Bytes of lines that the output does not accept at the moment; 0 while it accepts all. */
  get heldBytes(): number {
    return this.#retry ? this.#unwritten.length + Buffer.byteLength(this.#lines) : 0;
  }

  /** The number of lines that were dropped since the last call. The caller reports them. */
  droppedSinceLast(): number {
    const lines = this.dropped - this.#reported;
    this.#reported = this.dropped;
    return lines;
  }

  /** Drops the lines that are held, because the process ends. */
  dropHeld(): void {
    this.dropped += `${this.#unwritten}${this.#lines}`.split('\n').length - 1;
    this.#unwritten = Buffer.alloc(0);
    this.#lines = '';
  }

  /** Writes a line with the next batch. */
  write(line: string): void {
    // More than 1 MB waits only while standard output accepts nothing.
    if (this.#lines.length + this.#unwritten.length + line.length > 1_048_576) {
      this.dropped += 1;
      return;
    }
    this.#lines += line;
    if (this.#lines.length >= 8192 && !this.#retry) this.writeNow();
  }

  /** Writes the lines of this iteration of the event loop at its end, as far as they are accepted. */
  flush(): void {
    setImmediate(() => this.writeNow());
  }

  /** Writes as much as the output accepts. Returns undefined if that is all, otherwise the error. */
  writeNow(): NodeJS.ErrnoException | undefined {
    try {
      while (this.#unwritten.length > 0 || this.#lines !== '') {
        if (this.#unwritten.length === 0) {
          this.#unwritten = Buffer.from(this.#lines);
          this.#lines = '';
        }
        const count = writeSync(this.#fd, this.#unwritten);
        this.#begun = lastLineOf(this.#begun, this.#unwritten.subarray(0, count));
        this.#unwritten = this.#unwritten.subarray(count);
      }
      return undefined;
    } catch (error) {
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.writeNow();
      }, RETRY_MS).unref();
      return error as NodeJS.ErrnoException;
    }
  }

  /** Blocks until everything is written, for a second at most, or until an error occurs. */
  flushBeforeExit(): void {
    const end = performance.now() + 1000;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    while (this.writeNow()?.code === 'EAGAIN' && performance.now() < end) {
      Atomics.wait(clock, 0, 0, RETRY_MS);
    }
  }
}

/** The last line, without its end, after some bytes are added to it. */
function lastLineOf(line: Buffer, added: Buffer) {
  const end = added.lastIndexOf('\n');
  return end < 0 ? Buffer.concat([line, added]) : Buffer.from(added.subarray(end + 1));
}

/** Creates a logger with the format of the log. Lines above level `info` are written immediately. */
export function createLogger(level: string, output: Pick<LogOutput, 'write' | 'writeNow'>): Logger {
  return pino(
    {
      base: null,
      level,
      mixin() {
        const state = currentState.getStore();
        if (state?.traceId === undefined) return {};
        return traceFieldsOf({ traceId: state.traceId, spanId: activeSpanId() ?? state.spanId });
      },
      hooks: {
        logMethod(line, write, level) {
          write.apply(this, line);
          if (level > 30) output.writeNow(); // Above info.
        },
      },
    },
    output,
  );
}

/** Creates the log of the process. If the output accepts no lines, it continues, and logs the number of dropped lines later. */
export function createLog(level: string, output: LogOutput): Logger {
  const log = createLogger(level, output);
  setInterval(() => {
    const dropped = output.writeNow() === undefined ? output.droppedSinceLast() : 0;
    if (dropped > 0) log.warn({ dropped }, 'log lines dropped');
  }, 100).unref();
  process.once('exit', () => output.flushBeforeExit());
  return log;
}
