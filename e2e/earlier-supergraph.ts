import { expect, test } from '@jest/globals';
import { Kind, parse, print, visit } from 'graphql';
import { ledgerSdl } from '../test/federation/composition.ts';
import { startTestGateway } from '../testkit/gateway.ts';
import { json, startService } from '../testkit/service.ts';
import { send, supergraphOf } from './stack.ts';
import type { StartSupergraph } from './supergraph.ts';

/** The schema before the type `LedgerUnrecognizedStatus` was added to the unions. */
const earlierSdl = print(
  visit(parse(ledgerSdl), {
    [Kind.OBJECT_TYPE_DEFINITION]: ({ name }) =>
      name.value === 'LedgerUnrecognizedStatus' ? null : undefined,
    [Kind.UNION_TYPE_DEFINITION]: ({ types = [], ...union }) => ({
      ...union,
      types: types.filter(({ name }) => name.value !== 'LedgerUnrecognizedStatus'),
    }),
  }),
);

/** Defines the test of routers whose supergraph is older than the gateway, as docs/how-to/upgrade.md describes it. */
export function testEarlierSupergraph(startSupergraph: StartSupergraph): void {
  test('with an earlier supergraph, an outcome of a new type is null without an error', async () => {
    const service = await startService(json({ status: 77 }));
    const gateway = await startTestGateway(service);
    const url = await startSupergraph(
      supergraphOf({ ledger: `${gateway.url}/graphql` }, earlierSdl),
    );
    const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
    const { data, errors } = await send(url, gateway.token, query);
    expect([data, errors]).toEqual([{ workflowAction: null }, undefined]);
    expect(service.received).toHaveLength(1);
  });
}
