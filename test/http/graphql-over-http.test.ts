import { beforeAll, expect, test } from '@jest/globals';
import { serverAudits } from 'graphql-http';
import { startTestGateway } from '../../testkit/gateway.ts';
import { reply, startService } from '../../testkit/service.ts';

/**
 * These audits are of an earlier draft of GraphQL over HTTP, which had other statuses for clients that accept only
 * `application/json`. The specification has removed that section. An operation that is not executed is a 4xx for every client.
 */
const notKept = new Map([
  ['572B', 'SHOULD use 200 status code on document parsing failure'],
  ['FDE2', 'SHOULD use 200 status code on document validation failure'],
  ['7B9B', 'SHOULD use a status code of 200 on variable coercion failure'],
]);

let gateway: Awaited<ReturnType<typeof startTestGateway>>;
beforeAll(async () => {
  // Some audits read types of the schema.
  gateway = await startTestGateway(await startService(reply(500)), { INTROSPECTION: 'true' });
});

const audits = serverAudits({
  url: () => `${gateway.url}/graphql`,
  fetchFn: (url: string, init?: RequestInit) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${gateway.token}`);
    return fetch(url, { ...init, headers });
  },
});

test.each(audits.map((audit) => [audit.id, audit] as const))(
  'GraphQL over HTTP: %s',
  async (id, { fn }) => {
    const result = await fn();
    if (result.status !== 'ok') await result.response.body?.cancel();
    const rule = notKept.get(id);
    const reason = rule && 'Response status code is not 200';
    const expected = rule
      ? { status: 'warn', reason, name: `${rule} when accepting application/json` }
      : { status: 'ok' };
    expect(result).toMatchObject({ id, ...expected });
  },
);

test('an empty parameter of a GET counts as none', async () => {
  const headers = { authorization: `Bearer ${gateway.token}` };
  const get = async (search: string) => {
    const response = await fetch(`${gateway.url}/graphql?${search}`, { headers });
    return [response.status, await response.text()];
  };
  const query = `query=${encodeURIComponent('{ __typename }')}`;
  const fine = [200, '{"data":{"__typename":"Query"}}'];
  for (const name of ['operationName', 'variables', 'extensions', 'documentId']) {
    expect([name, await get(`${query}&${name}=`)]).toEqual([name, fine]);
    expect([name, await get(`${name}&${query}`)]).toEqual([name, fine]);
  }
  expect(await get(`${query}&operationName=&variables=&extensions=&query=`)).toEqual(fine);
  for (const search of [
    'query=',
    'query=&extensions=',
    '',
    `${query}&variables=x`,
    `${query}&${query}`,
  ]) {
    expect([search, ...(await get(search))]).toEqual([search, 400, expect.any(String)]);
  }
});
