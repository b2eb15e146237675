import {
  isPostgresInstalled,
  type PostgresServer,
  startPostgres as start,
} from '../test/support/postgres.ts';
import type { Harness } from './harness.ts';

/** What to do about a missing PostgreSQL; undefined if it is installed. */
export const missingPostgres = isPostgresInstalled
  ? undefined
  : 'postgres is missing: apt-get install postgresql (Debian)';

/** Starts a PostgreSQL server that ends with the scenario. */
export async function startPostgres(
  harness: Harness,
  options: Parameters<typeof start>[0] = {},
): Promise<PostgresServer> {
  const server = await start(options);
  harness.defer(() => server.stop());
  return server;
}
