import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { write } from '../../../testkit/graphql-operation.ts';
import { isPostgresInstalled, startPostgres } from '../../../testkit/postgres.ts';
import { success } from '../../../testkit/service.ts';
import { startStack } from '../../support/stack.ts';

// Long enough for sixty writes at once on a busy machine.
const TIMEOUT_MS = 4000;
const LEASE_MS = TIMEOUT_MS + 5000;
const testPostgres = isPostgresInstalled ? test : test.skip;

testPostgres(
  'keys whose claims waited for a standby for longer than the lease are executed when it is back',
  async () => {
    const primary = await startPostgres({ settings: { synchronous_standby_names: 'standby' } });
    const settings = { synchronous_standby_names: '' };
    const standby = await startPostgres({ primary, settings });
    const { service, gateway } = await startStack(success, {
      IDEMPOTENCY_STORE: primary.url,
      UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS),
    });
    const keys = Array.from({ length: 60 }, (_, n) => `key-${n}`);
    /** Sends a key until the response is not to be repeated: its outcome, or the code of an error. */
    const send = async (key: string, isOnce = false): Promise<string> => {
      for (;;) {
        const headers = { 'idempotency-key': key, 'idempotency-key-age': '0' };
        const { data, errors } = await gateway.graphql(write, {}, headers);
        const [error] = errors ?? [];
        if (!error) return data.result.code ?? data.result.__typename;
        if (isOnce || !error.extensions.retryable) return error.extensions.code;
        await sleep(50);
      }
    };
    const sendAll = async (isOnce?: boolean) =>
      new Set(await Promise.all(keys.map((key) => send(key, isOnce))));
    expect(await send('first')).toBe('WorkflowActionCompleted');

    const [receiver] = await standby.query('SELECT pid FROM pg_stat_wal_receiver');
    const pid = Number(receiver?.pid);
    process.kill(pid, 'SIGSTOP');
    expect(await sendAll(true)).toEqual(new Set(['IDEMPOTENCY_UNAVAILABLE']));
    await sleep(LEASE_MS);
    process.kill(pid, 'SIGCONT');

    expect(await sendAll()).toEqual(new Set(['WorkflowActionCompleted']));
    expect(service.received).toHaveLength(keys.length + 1);
  },
);
