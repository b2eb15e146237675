import type { Metrics } from '../telemetry/metrics.ts';
import { type CallOptions, UpstreamCalls } from './call.ts';
import { createCallObserver, createConnectionObserver, watchCalls } from './call-metrics.ts';
import { ReadCache } from './read-cache.ts';
import { createTransport, type TransportOptions } from './transport/got-client.ts';

/** The settings of the service. Durations are in milliseconds. */
type ServiceSettings = Omit<TransportOptions, 'observer'> &
  Pick<CallOptions, 'maxResponseBytes' | 'maxConcurrency'>;

type ServiceParts = Pick<CallOptions, 'probe' | 'memory' | 'policy' | 'log'> & {
  /** How long lists are kept, in milliseconds. */
  readCacheMs: number;
  metrics: Metrics;
};

/** Connects the service: its connections, places for calls, circuit breaker, cache of reads, and metrics. */
export function connectService(settings: ServiceSettings, parts: ServiceParts) {
  const { readCacheMs, metrics, ...others } = parts;
  const connectionObserver = createConnectionObserver(metrics, parts.log);
  const transport = createTransport({ ...settings, observer: connectionObserver });
  const readCache = new ReadCache(readCacheMs, parts.memory);
  const observer = createCallObserver(metrics);
  const calls = new UpstreamCalls({ ...settings, ...others, transport, readCache, observer });
  watchCalls(metrics, calls.admission, readCache);
  return {
    calls,
    transport,
    close() {
      readCache.clear();
      transport.close();
    },
  };
}
