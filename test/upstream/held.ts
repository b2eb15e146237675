import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pino } from 'pino';
import { type CallObserver, createCalls } from '../../src/upstream/calls.ts';
import { createHttp, type UpstreamRequest } from '../../src/upstream/http.ts';
import { closeAfterTest, json, type Received, startService } from '../helper.ts';

/** The signal of a caller who does not leave. */
export const never = new AbortController().signal;

/** An answer that every operation understands. */
export const fine = json({ service_status: { status: 0 }, list: [], unresolved: '', status: 0 });

type Call = { received: Received; response: ServerResponse; answer(): void };

/** A service that answers a call when the test says so. */
export async function startHeldService() {
  const calls: Call[] = [];
  const changes = new EventEmitter();
  let most = 0;
  const service = await startService((response, received) => {
    const answer = () => {
      if (!response.destroyed) fine(response, received);
    };
    response.once('close', () => changes.emit('change'));
    calls.push({ received, response, answer });
    most = Math.max(most, open());
    changes.emit('change');
  });
  const open = () => calls.filter(({ response }) => !response.closed).length;

  return {
    url: service.url,
    /** Every call so far, in order of arrival. */
    calls,
    /** The most calls that were open at once. */
    most: () => most,
    /** Waits until this many calls have come in all. */
    async arrived(count: number): Promise<Call> {
      while (calls.length < count) await once(changes, 'change');
      const call = calls[count - 1];
      if (!call) throw new Error('no such call');
      return call;
    },
    /** Waits until no call is open. */
    async idle(): Promise<void> {
      while (open() > 0) await once(changes, 'change');
    },
    /** Answers all calls, and from here on at once. */
    release(): void {
      for (const { answer } of calls) answer();
      changes.on('change', () => {
        for (const { response, answer } of calls) if (!response.writableEnded) answer();
      });
    },
  };
}

/** The calls of a gateway without the gateway: what stands between a resolver and the service. */
export function startCalls(
  service: { url: string },
  options: { maxConcurrency?: number; timeoutMs?: number } = {},
) {
  const http = createHttp({
    baseUrl: new URL(service.url),
    timeoutMs: options.timeoutMs ?? 10_000,
    maxResponseBytes: 1_000_000,
    maxConcurrency: 256,
  });
  closeAfterTest(async () => http.close());
  const events = new EventEmitter();
  const counts = { attempted: 0, retried: 0, shared: 0 };
  const count = (name: keyof typeof counts) => () => {
    counts[name] += 1;
    events.emit('count');
  };
  const observer: CallObserver = {
    attempted: count('attempted'),
    retried: count('retried'),
    shared: count('shared'),
  };
  const calls = createCalls({
    http,
    log: pino({ level: 'silent' }),
    observer,
    timeoutMs: 10_000,
    maxConcurrency: 256,
    ...options,
  });
  return {
    ...calls,
    counts,
    /** Waits until something was counted so often. */
    async counted(name: keyof typeof counts, times: number): Promise<void> {
      while (counts[name] < times) await once(events, 'count');
    },
    /** The circuit, the calls in flight and in line, at this moment. */
    now: () => ({ circuit: calls.circuit, inFlight: calls.inFlight, queued: calls.queued }),
  };
}

/** A read of GL codes, and one that asks for something else with each other project. */
export function readOf(token: string, project = 'north'): UpstreamRequest {
  const search = `?${new URLSearchParams({ target: '5', project, includeHide: 'false' })}`;
  return { operation: 'getGLCodes5', search, token, requestId: 'read-1' };
}

export function writeOf(token: string): UpstreamRequest {
  return { operation: 'upgradeToHQ', token, requestId: 'write-1' };
}

/** The value of a metric, summed over its labels. */
export async function metric(gateway: { url: string }, name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const values = text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .map((line) => Number(line.slice(line.lastIndexOf(' '))));
  if (values.length === 0) return 0;
  return values.reduce((sum, value) => sum + value, 0);
}

/** Waits until a metric has a value: a scrape is all there is to learn it from outside. */
export async function metricIs(gateway: { url: string }, name: string, value: number) {
  while ((await metric(gateway, name)) !== value);
}
