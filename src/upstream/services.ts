import type { Logger } from 'pino';
import type { Memory } from '../admission/memory.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type CallPolicy, type Calls, UpstreamCalls } from './call.ts';
import { createCallObserver, watchCalls, watchReadCache } from './call-metrics.ts';
import { operations, type Paths, type ReadName, type UpstreamRequest } from './operations.ts';
import { ReadCache } from './read-cache.ts';
import type { ConnectionOptions } from './transport/connections.ts';
import { createTransport, type Transport } from './transport/got-client.ts';

/** The settings of a service. Durations are in milliseconds. */
export type ServiceSettings = Omit<ConnectionOptions, 'onEarlyClose'> & {
  headers: Readonly<Record<string, string>>;
  /** The longest body of a response after decompression, in bytes. */
  maxResponseBytes: number;
  maxConcurrency: number;
  /** The read that is sent before a write while the circuit is open (docs/decisions/0005). */
  probe: UpstreamRequest<ReadName>;
};

/**
 * Connects the services that `declarations.ts` names. Each has its own connections, places for calls, circuit breaker, and
 * metrics with its name. A call goes to the service of its operation.
 */
export function connectServices<Name extends string>(
  settings: Readonly<Record<Name, ServiceSettings>>,
  {
    paths,
    readCacheMs,
    memory,
    policy,
    log,
    metrics,
  }: {
    paths: Paths;
    /** How long lists are kept, in milliseconds. */
    readCacheMs: number;
    memory: Memory;
    policy: CallPolicy;
    log: Logger;
    metrics: Metrics;
  },
) {
  const observer = createCallObserver(metrics, Object.keys(settings));
  // All services share it, because a read of one service may show what a write changed in another.
  const readCache = new ReadCache(readCacheMs, memory);
  const connected = new Map<string, { transport: Transport; calls: UpstreamCalls }>();
  for (const [service, own] of Object.entries<ServiceSettings>(settings)) {
    const { baseUrl, timeoutMs, tls, keepAliveS, idleMarginMs, headers } = own;
    const onEarlyClose = () => log.warn({ service }, 'service closed a connection early');
    const connections = { baseUrl, timeoutMs, tls, keepAliveS, idleMarginMs, onEarlyClose };
    const transport = createTransport({ ...connections, paths, headers });
    const { maxResponseBytes, maxConcurrency, probe } = own;
    const limits = { timeoutMs, maxResponseBytes, maxConcurrency };
    const parts = { transport, observer, readCache, memory, policy, log };
    const calls = new UpstreamCalls({ service, baseUrl, paths, probe, ...limits, ...parts });
    connected.set(service, { transport, calls });
  }
  const all = [...connected.values()];
  watchCalls(metrics, connected);
  watchReadCache(metrics, readCache);
  const serviceOf = (name: string) => {
    const service = connected.get(name);
    if (!service) throw new Error(`The service ${name} has no settings.`);
    return service;
  };
  const callsOf = ({ operation }: UpstreamRequest) =>
    serviceOf(operations[operation].service).calls;
  const calls: Calls = {
    read: (request, scope) => callsOf(request).read(request, scope),
    write: (request, scope) => callsOf(request).write(request, scope),
  };
  return {
    calls,
    /** The transport of a service, for settings that change while the gateway runs. */
    transportOf: (service: Name): Transport => serviceOf(service).transport,
    /** The writes in flight, whose outcome a forced exit would lose. */
    pendingWrites: () => all.flatMap(({ calls }) => calls.pendingWrites),
    /** Resolves when no call is in flight. A write continues after its client has disconnected. */
    async idle() {
      await Promise.all(all.map(({ calls }) => calls.inFlight.idle()));
    },
    close() {
      readCache.clear();
      for (const { transport } of all) transport.close();
    },
  };
}
