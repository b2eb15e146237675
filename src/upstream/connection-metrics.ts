import type { Logger } from 'pino';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ConnectionObserver } from './transport/connections.ts';

/** Counts the connections to the service, and logs what is wrong with them. */
export function createConnectionObserver(metrics: Metrics, log: Logger): ConnectionObserver {
  const help = 'Connections opened to the service';
  const opened = metrics.counter('connections_opened_total', help, 'service');
  const service = 'ledger';
  opened.inc({ service }, 0);
  return {
    opened: () => opened.inc({ service }),
    closedEarly: () => log.warn({ service }, 'service closed a connection early'),
    surplus: () =>
      log.error(
        { service },
        'service sent a surplus response, so connections are no longer reused',
      ),
  };
}
