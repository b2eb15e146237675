import { setImmediate as immediate } from 'node:timers/promises';
import { buildConnector } from 'undici';
import { UpstreamError } from '../upstream-error.ts';

export type Connector = buildConnector.connector;

/**
 * A connector whose connections are open when they are first used. The kernel completes a connection before
 * the service accepts it, so the service may have closed it already. The event loop has to poll once to notice.
 */
export function buildVerifiedConnector(options: buildConnector.BuildOptions): Connector {
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
