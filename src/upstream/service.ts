import type { Logger } from 'pino';
import type { Memory } from '../admission/memory.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type CallPolicy, UpstreamCalls } from './call.ts';
import {
  createCallObserver,
  createConnectionObserver,
  watchCalls,
  watchReadCache,
} from './call-metrics.ts';
import type { ReadRequest } from './operations.ts';
import { ReadCache } from './read-cache.ts';
import { createTransport, type TransportOptions } from './transport/got-client.ts';

/** The settings of the service. Durations are in milliseconds. */
type ServiceSettings = Omit<TransportOptions, 'observer'> & {
  /** The longest body of a response after decompression, in bytes. */
  maxResponseBytes: number;
  maxConcurrency: number;
};

type ServiceParts = {
  /** The read that is sent before a write while the circuit is open (docs/decisions/0005). */
  probe: ReadRequest;
  /** How long lists are kept, in milliseconds. */
  readCacheMs: number;
  memory: Memory;
  policy: CallPolicy;
  log: Logger;
  metrics: Metrics;
};

/** Connects the service: its connections, places for calls, circuit breaker, cache of reads, and metrics. */
export function connectService(settings: ServiceSettings, parts: ServiceParts) {
  const { baseUrl, timeoutMs, maxResponseBytes, maxConcurrency } = settings;
  const { readCacheMs, metrics, ...others } = parts;
  const transport = createTransport({
    ...settings,
    observer: createConnectionObserver(metrics, parts.log),
  });
  const readCache = new ReadCache(readCacheMs, parts.memory);
  const limits = { timeoutMs, maxResponseBytes, maxConcurrency };
  const observer = createCallObserver(metrics);
  const calls = new UpstreamCalls({
    baseUrl,
    transport,
    readCache,
    observer,
    ...limits,
    ...others,
  });
  watchCalls(metrics, calls.admission);
  watchReadCache(metrics, readCache);
  return {
    calls,
    transport,
    close() {
      readCache.clear();
      transport.close();
    },
  };
}
