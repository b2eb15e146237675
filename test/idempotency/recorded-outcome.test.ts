import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { COMPLETENESS_KEY } from '../../packages/at-most-once/src/store.ts';
import { intentOf } from '../../src/idempotency/idempotency-key.ts';
import { operation } from '../../testkit/example-operation.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { startService, success } from '../../testkit/service.ts';
import { TestStore } from '../../testkit/store.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { scopeOf } from '../support/upstream-call.ts';

/*
 * A store outlives a release, so what a version records is read by the later ones. deploy/record-outcomes.ts writes what
 * each release recorded, and what it returned for it.
 */

const folder = new URL('../fixtures/recorded-outcomes/', import.meta.url);
const fixtures = readdirSync(folder).map((file) => file.replace('.json', ''));
const fixtureSchema = z.object({
  completeness: z.looseObject({}),
  /** The writes that were sent, by the names of their operations. */
  documents: z.record(z.string(), z.string()),
  keys: z.array(
    z.object({
      key: z.string(),
      record: z.looseObject({}),
      writes: z.array(
        z.object({ responseName: z.string(), outcome: z.looseObject({ __typename: z.string() }) }),
      ),
    }),
  ),
});

test('each release from 1.0.0 on has left what it recorded', () => {
  const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
  const releases = [...changelog.matchAll(/^## ([1-9]\d*\.\d+\.\d+) /gm)].map(([, name]) => name);
  expect(fixtures.sort()).toEqual(releases.sort());
});

test.each(fixtures)(
  'what %s recorded is still returned, by settling and to a repeat',
  async (version) => {
    const text = readFileSync(new URL(`${version}.json`, folder), 'utf8');
    const { completeness, documents, keys } = fixtureSchema.parse(JSON.parse(text));
    const path = join(await temporaryFolder(), 'keys.db');
    const store = new TestStore({ path });
    const { serverId } = await store.read(COMPLETENESS_KEY);
    const { iss: issuer = '', sub = '' } = decodeJwt(await (await testIssuer()).token());
    const scope = scopeOf();
    const caller = { ...scope.caller, issuer, subject: sub };
    const put = (key: string, caller: string | null, record: object) =>
      store.swap({
        key,
        caller,
        expected: null,
        next: { version: key, text: JSON.stringify(record) },
        needsRoom: false,
        basis: {
          serverId,
          history: undefined,
          generation: null,
          validUntil: Infinity,
          retentionMs: Infinity,
        },
      });
    await put(COMPLETENESS_KEY, null, completeness);
    for (const { key, record } of keys) {
      await put(intentOf({ keys: [key], ages: [] }, { ...scope, caller }).key, caller.hash, record);
    }
    await store.close();

    const service = await startService(success);
    const gateway = await startTestGateway(service, { IDEMPOTENCY_STORE: `file:${path}` });
    for (const { key, writes } of keys) {
      const { data } = await gateway.graphql(operation('SettleWrites'), { idempotencyKey: key });
      const expected = writes.map(({ responseName, outcome }) => {
        // Another version may explain it in other words.
        const isUnknown = outcome.__typename === 'LedgerOutcomeUnknown';
        return {
          responseName,
          outcome: { ...outcome, ...(isUnknown && { message: expect.any(String) }) },
        };
      });
      expect([key, data?.settleWrites.writes]).toMatchObject([key, expected]);
      const { [key.replace(/-.*/, '')]: document = '' } = documents;
      const repeat = await gateway.graphql(document, {}, { 'idempotency-key': key });
      expect([key, repeat.headers.get('idempotent-replayed')]).toEqual([key, 'true']);
    }
    expect(keys.length).toBeGreaterThan(50);
    expect(service.received).toEqual([]);
  },
);
