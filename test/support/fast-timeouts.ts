import { Server } from 'node:net';
import { jest } from '@jest/globals';
import { closeAfterTest } from './cleanup.ts';

/** Makes the timeouts for slow requests 50 times as fast, for servers that start after this call: 10 s are 200 ms. */
export function speedUpTimeouts(): void {
  const { listen } = Server.prototype;
  const spyOnListen = jest.spyOn(Server.prototype, 'listen').mockImplementation(function (
    this: Server,
    ...args
  ) {
    Reflect.set(this, 'headersTimeout', 200);
    Reflect.set(this, 'requestTimeout', 200);
    Reflect.set(this, 'connectionsCheckingInterval', 20);
    return Reflect.apply(listen, this, args);
  });
  const setTimer = globalThis.setInterval;
  const spyOnTimer = jest
    .spyOn(globalThis, 'setInterval')
    .mockImplementation((run, ms, ...args) => setTimer(run, ms === 1000 ? 20 : ms, ...args));
  closeAfterTest(() => {
    spyOnListen.mockRestore();
    spyOnTimer.mockRestore();
  });
}

/** Makes settings be read again every 10 ms, for gateways that start after this call. */
export function readFilesOften(): void {
  const setTimer = globalThis.setInterval;
  const spy = jest
    .spyOn(globalThis, 'setInterval')
    .mockImplementation((run, ms, ...args) => setTimer(run, ms === 10_000 ? 10 : ms, ...args));
  closeAfterTest(() => spy.mockRestore());
}
