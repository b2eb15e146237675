import { setImmediate as immediate } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { UpstreamError } from '../upstream-error.ts';
import { readAfterFailedWrite } from './socket-changes.ts';
import type { TlsFiles } from './tls-files.ts';

/** After so long without a packet, the kernel asks once a second whether the other side still exists, and gives up after ten. */
const PROBE_MS = 10_000;

/**
 * Creates a connector that checks whether a new connection is open before it is used. The kernel completes a connection before
 * the service accepts it, so the service may have closed it meanwhile. The event loop notices this only at its next poll.
 *
 * Each connection resolves the name of the service anew. With TLS, it resumes the session of an earlier connection.
 */
export function createConnector(files: TlsFiles, timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    secureContext: createSecureContext(files),
    keepAliveInitialDelay: PROBE_MS,
  });
  /** undici keeps sessions in weak references alone. */
  const latest: { session?: Buffer } = {};
  return (target, callback) =>
    connect(target, async (...[error, socket]) => {
      if (error) return callback(error, null);
      socket.on('session', (session) => {
        latest.session = session;
      });
      // The first call ends the iteration that completed the connection. The second one comes after a poll.
      await immediate();
      await immediate();
      // A connection on which the service has sent something before the request is not used either.
      const isOpen = !socket.destroyed && !socket.readableEnded && socket.readableLength === 0;
      if (isOpen) {
        readAfterFailedWrite(socket);
        return callback(null, socket);
      }
      socket.destroy();
      // This is no error of undici's, because after those a client connects again and again.
      const details = { fault: 'closed before sending', transient: true };
      callback(new UpstreamError('UPSTREAM_UNAVAILABLE', details), null);
    });
}
