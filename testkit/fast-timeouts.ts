import { Server } from 'node:net';
import { jest } from '@jest/globals';
import { closeAfterTest } from './cleanup.ts';

/** Node's own global object, whose timers and clock the tested modules use. */
declare const native: typeof globalThis;

/** Makes timers of `ms` milliseconds run after `fastMs`, if they start after this call and in this test. */
export function speedUp(timer: 'setInterval' | 'setTimeout', ms: number, fastMs: number): void {
  const start = native[timer];
  const spy = jest
    .spyOn(native, timer)
    .mockImplementation((run, delay, ...args) =>
      start(run, delay === ms ? fastMs : delay, ...args),
    );
  closeAfterTest(() => spy.mockRestore());
}

/** Runs a step while the clock is two seconds ahead. */
export async function later(step: () => Promise<void>): Promise<void> {
  const now = native.performance.now.bind(native.performance);
  const clock = jest.spyOn(native.performance, 'now').mockImplementation(() => now() + 2000);
  await step();
  clock.mockRestore();
}

/** Makes the timeouts for slow requests 50 times as fast, for servers that start after this call: 10 s are 200 ms. */
export function speedUpTimeouts(): void {
  const { listen } = Server.prototype;
  const spy = jest.spyOn(Server.prototype, 'listen').mockImplementation(function (
    this: Server,
    ...args
  ) {
    Reflect.set(this, 'headersTimeout', 200);
    Reflect.set(this, 'requestTimeout', 200);
    Reflect.set(this, 'connectionsCheckingInterval', 20);
    return Reflect.apply(listen, this, args);
  });
  closeAfterTest(() => spy.mockRestore());
  speedUp('setInterval', 1000, 20);
}

/** Makes settings be read again every 10 ms, for gateways that start after this call. */
export function readFilesOften(): void {
  speedUp('setInterval', 5000, 10);
}
