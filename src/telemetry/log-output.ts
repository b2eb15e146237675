import { writeSync } from 'node:fs';

const STDOUT = 1;
/** How many characters are collected before they are written. */
const BATCH = 8192;
/** How many characters are kept while standard output accepts none. Lines beyond that are dropped. */
const MAX_BUFFERED = 1_048_576;
/** Milliseconds until the next attempt if standard output accepts no more: a pipe holds only 64 KB. */
const RETRY_MS = 10;

const nothing = Buffer.alloc(0);

/**
 * Writes log lines to standard output in batches, and never waits for it. Node's asynchronous writes
 * would occupy a thread that a pipe without a reader blocks forever, and the process could not exit.
 */
export class LogOutput {
  #lines = '';
  #unwritten: Buffer = nothing;
  #retry: NodeJS.Timeout | undefined;
  /** The lines that standard output did not accept. */
  dropped = 0;
  #waiting: (() => void)[] = [];

  constructor() {
    // Node sets a pipe or a socket to non-blocking mode when this property is first read.
    void process.stdout;
  }

  /** Bytes of lines that standard output does not accept at the moment; 0 while it accepts all. */
  get heldBytes(): number {
    return this.#retry ? this.#unwritten.length + Buffer.byteLength(this.#lines) : 0;
  }

  /** Writes a line with the next batch. */
  write(line: string): void {
    if (this.#lines.length + this.#unwritten.length + line.length > MAX_BUFFERED) {
      this.dropped += 1;
      return;
    }
    this.#lines += line;
    if (this.#lines.length >= BATCH && !this.#retry) this.writeNow();
  }

  /**
   * Calls back when everything is written, or as much as standard output accepts: once for all that is written in
   * this iteration of the event loop.
   */
  flush(done: () => void): void {
    if (this.#waiting.push(done) > 1) return;
    setImmediate(() => {
      this.writeNow();
      for (const waiting of this.#waiting.splice(0)) waiting();
    });
  }

  /** Writes as much as standard output accepts. Returns undefined if that is all, otherwise the error. */
  writeNow(): NodeJS.ErrnoException | undefined {
    try {
      while (this.#unwritten.length > 0 || this.#lines !== '') {
        if (this.#unwritten.length === 0) {
          this.#unwritten = Buffer.from(this.#lines);
          this.#lines = '';
        }
        this.#unwritten = this.#unwritten.subarray(writeSync(STDOUT, this.#unwritten));
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

  /** Blocks until everything is written, for at most this many milliseconds, or until an error occurs. */
  flushBeforeExit(ms: number): void {
    const end = performance.now() + ms;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    while (this.writeNow()?.code === 'EAGAIN' && performance.now() < end) {
      Atomics.wait(clock, 0, 0, RETRY_MS);
    }
  }
}
