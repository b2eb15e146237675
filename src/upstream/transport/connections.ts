import { setImmediate as immediate } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { buildConnector, Pool } from 'undici';
import type { RequestScope } from '../../request-scope.ts';
import { UpstreamError } from '../upstream-error.ts';
import type { Connection } from './send-once.ts';
import type { TlsFiles } from './tls-files.ts';
import { MAX_IDLE_MS, WriteConnections } from './write-connections.ts';

export type ConnectionOptions = {
  baseUrl: URL;
  timeoutMs: number;
  tls: TlsFiles;
  /** Safety margin before the end of the time that the service keeps an idle connection, in milliseconds. */
  idleMarginMs?: number | undefined;
};

/** The connections to the service, by the effect of an operation. */
export function createConnections(options: ConnectionOptions) {
  const { baseUrl, timeoutMs, tls, idleMarginMs = 1000 } = options;
  const { origin } = baseUrl;
  // Shared, so that the files are parsed once and TLS sessions are resumed. Its timeout is longer than any deadline.
  const connectorFor = (files: TlsFiles) => {
    const secureContext = createSecureContext(files);
    return buildVerifiedConnector({ timeout: timeoutMs * 2, allowH2: false, secureContext });
  };
  let connector = connectorFor(tls);
  const settings = {
    pipelining: 1,
    allowH2: false,
    connect: ((...target) => connector(...target)) satisfies buildConnector.connector,
    // The deadline of the call replaces undici's timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: MAX_IDLE_MS,
    keepAliveTimeoutThreshold: idleMarginMs,
  };
  // A service that sends one response too many would shift those of a connection: it must belong to one caller.
  // A further caller takes the place of the one idle for longest. The connections of a pool have no limit: the gate limits
  // the calls, and the connection of an error whose body is being discarded must not delay another call.
  const pools = new LRUCache<string, Pool>({
    max: 1000,
    memoMethod: () => new Pool(origin, settings),
    dispose: (pool) => void pool.close(() => {}),
  });
  const writes = new WriteConnections(origin, settings);
  return {
    read: ({ caller }: RequestScope): Connection => ({ dispatcher: pools.memo(caller.hash) }),
    // If the service closes a reused connection at the wrong moment, the outcome is unknown (docs/decisions/0003).
    write: ({ caller }: RequestScope) => writes.take(caller.hash),
    /** New connections use these files. Idle ones are closed, and those in use after their response. */
    useTls(files: TlsFiles) {
      connector = connectorFor(files);
      pools.clear();
      writes.close();
    },
    close() {
      writes.close();
      for (const pool of pools.values()) pool.destroy(() => {});
    },
  };
}

/**
 * A connector whose connections are open when they are first used. The kernel completes a connection before
 * the service accepts it, so the service may have closed it already. The event loop has to poll once to notice.
 */
function buildVerifiedConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, async (...[error, socket]) => {
      if (error) return callback(error, null);
      // The first one ends the iteration that completed the connection. A poll comes before the second one.
      await immediate();
      await immediate();
      // A service that sends something before the request also closes the connection.
      const isOpen = !socket.destroyed && !socket.readableEnded && socket.readableLength === 0;
      if (isOpen) return callback(null, socket);
      socket.destroy();
      // Not an error of undici: after those, a client connects again and again.
      const details = { fault: 'closed before sending', transient: true };
      callback(new UpstreamError('UPSTREAM_UNAVAILABLE', details), null);
    });
}
