import { expect, test } from '@jest/globals';
import { createClient } from '../../src/upstream/client.ts';
import { startService, success } from '../../testkit/service.ts';
import { scopeOf, startCalls } from '../support/upstream-call.ts';

test('a body that one of several writes requires cannot be left out', async () => {
  const service = await startService(success);
  const client = createClient(startCalls(service).calls, scopeOf());
  const send = (operation: 'saveApproverList' | 'upgradeToHQ') =>
    // @ts-expect-error The type says so, and what is sent all the same is checked.
    client.write(operation, 'result', {});
  expect(() => send('saveApproverList')).toThrow(TypeError);
  expect(service.received).toEqual([]);
});
