import { expect, test } from '@jest/globals';
import { json, startService, startTestGateway } from './helper.ts';

const query = `query ($target: IntegrationTarget! = EMAIL, $project: String! = "north", $includeHide: Boolean! = false) {
  glCodes(target: $target, project: $project, includeHide: $includeHide) {
    __typename
    ... on LedgerStatus { invoiceId message }
    ... on GlCodeList { codes { target project code name value hide } }
    ... on LedgerUnrecognizedStatus { status }
  }
}`;

test('sends a GET with the three parameters, the token as it came, and no body', async () => {
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service);

  await gateway.graphql(query, { project: 'a & b=c/ü' }, { 'x-request-id': 'request-1' });

  expect(service.received).toEqual([
    expect.objectContaining({
      method: 'GET',
      url: '/getGLCodes5?target=5&project=a+%26+b%3Dc%2F%C3%BC&includeHide=false',
      body: '',
      headers: expect.objectContaining({
        authorization: `Bearer ${gateway.token}`,
        'x-request-id': 'request-1',
      }),
    }),
  ]);
});

test('status 0 is a list of codes that know their target and project', async () => {
  const service = await startService(
    json({
      service_status: { invoice_id: 7, message: 'fine', status: 0 },
      list: [{ Code: '4010', Name: 'Travel', Value: 'T', Hide: 1 }, {}],
    }),
  );
  const gateway = await startTestGateway(service);

  const { data, errors } = await gateway.graphql(query, { includeHide: true });

  expect(errors).toBeUndefined();
  const asked = { target: 'EMAIL', project: 'north' };
  expect(data.glCodes).toEqual({
    __typename: 'GlCodeList',
    invoiceId: '7',
    message: 'fine',
    codes: [
      { ...asked, code: '4010', name: 'Travel', value: 'T', hide: 1 },
      { ...asked, code: null, name: null, value: null, hide: null },
    ],
  });
});
