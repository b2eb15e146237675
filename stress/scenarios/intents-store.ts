import { join } from 'node:path';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { stepClock } from '../stores/clock-faults.ts';
import { fillDisk } from '../stores/file-faults.ts';
import { killGateway } from '../stores/gateway-faults.ts';
import { behindPgBouncer } from '../stores/pgbouncer-faults.ts';
import { emptyPostgres, rollRetention } from '../stores/postgres-faults.ts';
import { emptyRedis, evictRedis, failOverRedis } from '../stores/redis-faults.ts';
import {
  cancelLate,
  failOverToLagging,
  failOverToStale,
  failOverToStandby,
  pauseStandby,
} from '../stores/standby-faults.ts';

/** What each store has to survive. */
const stores: Record<string, ((harness: Harness) => Promise<Row[]>)[]> = {
  memory: [(harness) => killGateway(harness, 'memory')],
  file: [async (harness) => killGateway(harness, await fileStore()), fillDisk, stepClock('file')],
  redis: [failOverRedis, emptyRedis, evictRedis, stepClock('redis')],
  postgres: [emptyPostgres, rollRetention, stepClock('postgres')],
  standby: [failOverToStandby, pauseStandby],
  quorum: [failOverToLagging],
  stale: [failOverToStale],
  cancel: [cancelLate],
  pgbouncer: [behindPgBouncer],
};
const fileStore = async () => `file:${join(await temporaryFolder(), 'keys.db')}`;

/** Some of them, such as `redis,postgres`. */
const STORES = (process.env.STRESS_STORES ?? Object.keys(stores).join()).split(',');

/**
 * Gateways whose store fails send no key twice, and every intent gets an answer that agrees with the service. Each fault is a
 * scenario, so that its rows are printed when it ends.
 */
export const intentsOfStores: Scenario[] = STORES.flatMap((store) => stores[store] ?? []).map(
  (run) => ({ name: 'intents-store', run }),
);
