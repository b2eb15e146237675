import { expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Check } from 'typebox/schema';
import { openApi } from '../../dev/openapi.ts';
import { operations } from '../../src/upstream/declarations.ts';

const description = openApi();
const { paths } = JSON.parse(description);
const described = Object.values(operations).map(({ name, method }) => {
  const { parameters, requestBody, responses } = paths[`/${name}`][method.toLowerCase()];
  const { schema, example } = responses[200].content['application/json'];
  const body = requestBody?.content['application/json'].schema;
  return { name, parameters, body, schema, example };
});

test('the description is OpenAPI 3.1, of all operations', async () => {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(description))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
  expect(Object.keys(paths)).toEqual(Object.values(operations).map(({ name }) => `/${name}`));
});

test.each(described)(
  'the sample of $name is as its schema says, and another type is not',
  ({ schema, example }) => {
    expect(Check(schema, example)).toBe(true);
    for (const other of [[], 'text', { ...example, message: 5, unresolved: 5, list: 5 }]) {
      expect(Check(schema, other)).toBe(false);
    }
  },
);

test('a large integer of a sample keeps its digits, and integers and texts have their types', () => {
  expect(description).toContain('"invoice_id": 9223372036854775807');
  const [codes, approvers, upload] = ['getGLCodes5', 'saveApproverList', 'updateWorkflowCSV'].map(
    (name) => described.find((one) => one.name === name),
  );
  expect(codes?.parameters.map(({ name }: { name: string }) => name)).toEqual([
    'target',
    'project',
    'includeHide',
  ]);
  const { approver_id, claim_limit, name } = approvers?.body.items.properties ?? {};
  expect([approver_id, claim_limit, name]).toEqual([
    { type: ['integer', 'null'] },
    { type: ['number', 'null'] },
    { type: ['string', 'null'] },
  ]);
  expect(upload?.parameters).toMatchObject([{ schema: { type: 'object' }, explode: true }]);
  expect(description).not.toContain('~');
});
