import { describe, expect, test } from '@jest/globals';
import { isUnionType, parse, validate } from 'graphql';
import { schema } from '../../src/graphql/schema.ts';

/** The root fields whose type is a union of outcomes. */
const operations = [schema.getQueryType(), schema.getMutationType()].flatMap((root) =>
  Object.values(root?.getFields() ?? {}).flatMap(({ name, type }) =>
    isUnionType(type) && type.name !== '_Entity' ? [{ name, type }] : [],
  ),
);

test('every operation has a union of outcomes', () => {
  expect(operations.map(({ name }) => name).sort()).toEqual([
    'glCodes',
    'saveApprovers',
    'uploadWorkflowCsv',
    'workflowAction',
  ]);
});

describe('any two members of a union can be selected side by side', () => {
  test('LedgerFailed and LedgerOutcomeUnknown', () => {
    const document = parse(`mutation {
      workflowAction(action: RESTART) {
        ... on LedgerFailed { message }
        ... on LedgerOutcomeUnknown { message }
      }
    }`);
    expect(validate(schema, document)).toEqual([]);
  });

  test.each(operations)('all members of the result of $name', ({ name, type }) => {
    const members = type
      .getTypes()
      .map((member) => {
        const leaves = Object.keys(member.getFields()).filter((field) => field !== 'codes');
        return `... on ${member.name} { ${leaves.join(' ')} }`;
      })
      .join(' ');
    const fields: Record<string, string> = {
      glCodes: 'query { glCodes(target: EMAIL, project: "a")',
      saveApprovers: 'mutation { saveApprovers(approvers: [])',
      uploadWorkflowCsv: 'mutation { uploadWorkflowCsv(input: { fileName: "a" })',
      workflowAction: 'mutation { workflowAction(action: RESTART)',
    };
    expect(validate(schema, parse(`${fields[name]} { ${members} } }`))).toEqual([]);
  });
});
