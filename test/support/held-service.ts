import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { json, type Received, startService } from './service.ts';

/** A response that every operation decodes as success. */
export const success = json({ service_status: { status: 0 }, list: [], unresolved: '', status: 0 });

type HeldRequest = {
  received: Received;
  response: ServerResponse;
  /** Responds with success, if the connection is still open. */
  respond(): void;
};

/** Starts a service that responds to a request when the test says so. */
export async function startHeldService() {
  const requests: HeldRequest[] = [];
  const changes = new EventEmitter();
  let most = 0;
  const service = await startService((response, received) => {
    const respond = () => {
      if (!response.destroyed) success(response, received);
    };
    response.once('close', () => changes.emit('change'));
    requests.push({ received, response, respond });
    most = Math.max(most, open());
    changes.emit('change');
  });
  const open = () => requests.filter(({ response }) => !response.closed).length;

  return {
    url: service.url,
    /** Every request so far, in order of arrival. */
    requests,
    /** The largest number of requests that were open at the same time. */
    most: () => most,
    /** Waits until this many requests have arrived, and returns the last of them. */
    async arrived(count: number): Promise<HeldRequest> {
      while (requests.length < count) await once(changes, 'change');
      const request = requests[count - 1];
      if (!request) throw new Error('no such request');
      return request;
    },
    /** Waits until no request is open. */
    async idle(): Promise<void> {
      while (open() > 0) await once(changes, 'change');
    },
    /** Responds to all open requests, and to later ones at once. */
    release(): void {
      for (const { respond } of requests) respond();
      changes.on('change', () => {
        for (const { response, respond } of requests) if (!response.writableEnded) respond();
      });
    },
  };
}
