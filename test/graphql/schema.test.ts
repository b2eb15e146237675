import { expect, test } from '@jest/globals';
import { isUnionType, parse, validate } from 'graphql';
import { schema } from '../../src/graphql/schema.ts';

/** Every operation, up to its selection. */
const operations = {
  glCodes: 'query { glCodes(target: EMAIL, project: "a")',
  saveApprovers: 'mutation { saveApprovers(approvers: [])',
  uploadWorkflowCsv: 'mutation { uploadWorkflowCsv(input: { fileName: "a" })',
  workflowAction: 'mutation { workflowAction(action: RESTART)',
};

test('the result of every operation is a union whose members can be selected side by side', () => {
  const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}),
  );
  const results = fields.flatMap(({ name, type }) =>
    isUnionType(type) ? [[name, type.getTypes()] as const] : [],
  );
  expect(Object.fromEntries(results)).toMatchObject(
    Object.fromEntries(Object.keys(operations).map((name) => [name, expect.any(Array)])),
  );
  for (const [name, operation] of Object.entries(operations)) {
    const selections = Object.fromEntries(results)[name]?.map((member) => {
      const leaves = Object.keys(member.getFields()).filter((field) => field !== 'codes');
      return `... on ${member.name} { ${leaves.join(' ')} }`;
    });
    const errors = validate(schema, parse(`${operation} { ${selections?.join(' ')} } }`));
    expect([name, errors]).toEqual([name, []]);
  }
});
