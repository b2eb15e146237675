import { setImmediate as immediate } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { buildConnector, Pool } from 'undici';
import type { RequestScope } from '../../request-scope.ts';
import { UpstreamError } from '../upstream-error.ts';
import { readAfterFailedWrite } from './early-response.ts';
import { skipContinue } from './interim-response.ts';
import type { Connection } from './send-once.ts';
import type { TlsFiles } from './tls-files.ts';
import { MAX_IDLE_MS, WriteConnections } from './write-connections.ts';

export type ConnectionOptions = {
  baseUrl: URL;
  timeoutMs: number;
  tls: TlsFiles;
  /** How long the service keeps idle connections, in seconds. By default, this is learned from its responses. */
  keepAliveS?: number | undefined;
  /** Safety margin before the end of the time that the service keeps an idle connection, in milliseconds. */
  idleMarginMs?: number | undefined;
  /** Called when connections for writes are no longer reused, because the service has closed one too early. */
  onEarlyClose?: (() => void) | undefined;
};

/** The connections to the service, by the effect of an operation. */
export function createConnections(options: ConnectionOptions) {
  const { baseUrl, timeoutMs, tls, keepAliveS, idleMarginMs = 1000 } = options;
  const { onEarlyClose = () => {} } = options;
  const { origin } = baseUrl;
  // One connector for all connections, so that files are parsed once and TLS sessions are resumed. Its timeout is longer than
  // any deadline.
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
  // A connection belongs to one caller: if a service sent one response too many, the next request would receive it. A further
  // caller takes the place of the one that was idle for longest. A pool has no limit of connections: the gate limits calls, and
  // a connection whose error response is being discarded must not delay another call.
  const pools = new LRUCache<string, Pool>({
    max: 1000,
    memoMethod: () => new Pool(origin, settings),
    dispose: (pool) => void pool.close(() => {}),
  });
  const writes = new WriteConnections(origin, settings, keepAliveS, onEarlyClose);
  return {
    read: ({ caller }: RequestScope): Connection => ({ dispatcher: pools.memo(caller.hash) }),
    // If the service closes a reused connection during the request, the outcome is unknown (docs/decisions/0003).
    write: ({ caller }: RequestScope) => writes.take(caller.hash),
    /** Uses these files for new connections. Idle connections are closed, and those in use close after their response. */
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
 * Creates a connector that checks whether a new connection is open before it is used. The kernel completes a connection before
 * the service accepts it, so the service may have closed it meanwhile. The event loop notices this only at its next poll.
 */
function buildVerifiedConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, async (...[error, socket]) => {
      if (error) return callback(error, null);
      // The first call ends the iteration that completed the connection. The second one comes after a poll.
      await immediate();
      await immediate();
      // A connection on which the service has sent something before the request is not used either.
      const isOpen = !socket.destroyed && !socket.readableEnded && socket.readableLength === 0;
      if (isOpen) {
        readAfterFailedWrite(socket);
        callback(null, socket);
        return skipContinue(socket);
      }
      socket.destroy();
      // This is no error of undici's, because after those a client connects again and again.
      const details = { fault: 'closed before sending', transient: true };
      callback(new UpstreamError('UPSTREAM_UNAVAILABLE', details), null);
    });
}
