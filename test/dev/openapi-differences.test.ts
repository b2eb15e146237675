import { expect, test } from '@jest/globals';
import { contract } from '../../dev/contract.ts';
import { openApi, parametersOf } from '../../dev/openapi.ts';
import { openApiDifferences } from '../../dev/openapi-differences.ts';
import { readOpenApi } from '../../dev/openapi-file.ts';
import { ledger } from '../../src/resolvers/ledger.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';

/*
 * Descriptions of the service as generators for ASP.NET Core write them. Swashbuckle 6 to 11 write OpenAPI 3.0: media types with
 * equal schemas, `nullable`, and `allOf` around a nullable reference. Microsoft.AspNetCore.OpenApi 10 writes OpenAPI 3.1: lists of
 * types, integers that may also be texts, and `oneOf` around a nullable reference. It knows other names than the wire has.
 */
type Schema = Record<string, unknown>;
type Dialect = {
  openapi: string;
  integer: (format: string) => Schema;
  nullable: (schema: Schema) => Schema;
  name: (name: string) => string;
};

const swashbuckle: Dialect = {
  openapi: '3.0.4',
  integer: (format) => ({ type: 'integer', format }),
  nullable: (schema) =>
    '$ref' in schema ? { allOf: [schema], nullable: true } : { ...schema, nullable: true },
  name: (name) => name,
};
const microsoft: Dialect = {
  openapi: '3.1.1',
  integer: (format) => ({ pattern: '^-?(?:0|[1-9]\\d*)$', type: ['integer', 'string'], format }),
  nullable: (schema) =>
    '$ref' in schema
      ? { oneOf: [{ type: 'null' }, schema] }
      : { ...schema, type: ['null', schema.type].flat() },
  name: (name) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
};

const targets = [
  ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 22, 23, 24, 26, 27, 33, 34, 35, 36, 37, 38],
  ...[39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 4001, -1],
];
const actions = ledger.operations.filter(({ action }) => action !== undefined);

/** The description of a service whose declarations are those of the gateway, with all fields nullable and identifiers of 64 bits. */
function describeService({ openapi, integer, nullable, name }: Dialect = swashbuckle) {
  const ref = (schema: string) => ({ $ref: `#/components/schemas/${schema}` });
  const content = (schema: object) => ({
    content: Object.fromEntries(
      ['text/plain', 'application/json', 'text/json'].map((type) => [type, { schema }]),
    ),
  });
  const respond = (schema: string) => ({
    200: { description: 'OK', ...content(ref(schema)) },
    400: { description: 'Bad Request', ...content(ref('ProblemDetails')) },
  });
  const fields = (...entries: [string, Schema][]) => ({
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([field, schema]) => [name(field), nullable(schema)]),
    ),
    additionalProperties: false,
  });
  const [text, flag] = [{ type: 'string' }, { type: 'boolean' }];
  const query = (parameter: string, schema: object) => ({
    ...{ name: parameter, in: 'query', required: true, schema },
  });
  const get = (schema: string, ...parameters: object[]) => ({
    get: { tags: ['Ledger'], parameters, responses: respond(schema) },
  });
  const post = (schema: object, answer: string, ...parameters: object[]) => ({
    post: { parameters, requestBody: content(schema), responses: respond(answer) },
  });
  const { name: _, ...optional } = query('option', integer('int32'));
  return {
    openapi,
    info: { title: 'Ledger', version: '1.0.0' },
    paths: {
      '/getGLCodes5': get(
        'GLCodeInfoSS',
        query('target', ref('Target')),
        query('project', text),
        query('includeHide', flag),
      ),
      '/saveApproverList': post({ type: 'array', items: ref('Approver') }, 'ServiceStatus'),
      '/updateWorkflowCSV': post(ref('Upload'), 'Unresolved', {
        ...optional,
        name: 'option',
        required: false,
      }),
      ...Object.fromEntries(
        actions.map(({ name, parameters }) => [
          `/${name}`,
          get('ServiceStatus', ...parametersOf(parameters)),
        ]),
      ),
    } as Record<string, Schema>,
    components: {
      schemas: {
        Target: { enum: targets, type: 'integer', format: 'int32' },
        Status: { enum: [0, 1, 2, 3], type: 'integer', format: 'int32' },
        ServiceStatus: fields(
          ['invoice_id', integer('int64')],
          ['message', text],
          ['status', ref('Status')],
        ),
        GLCodeInfo: fields(
          ...['Code', 'Name', 'Value'].map((field): [string, Schema] => [field, text]),
          ['Hide', integer('int32')],
        ),
        GLCodeInfoSS: fields(
          ['service_status', ref('ServiceStatus')],
          ['list', { type: 'array', items: ref('GLCodeInfo') }],
        ),
        Approver: fields(
          ['approver_id', integer('int64')],
          ['claim_limit', { type: 'number', format: 'double' }],
          ...['description', 'email', 'email_upload', 'my_bank_account', 'my_email', 'name'].map(
            (field): [string, Schema] => [field, text],
          ),
          ['is_disable_approval', flag],
          ['is_expense_claim', flag],
          ['workflow_id', integer('int64')],
          ['workflow_name', text],
        ),
        Invoice: fields(['invoice_id', integer('int64')], ['message', text]),
        Upload: fields(
          ['PictureName', text],
          ['PictureStream', text],
          ['service_status', ref('Invoice')],
        ),
        Unresolved: fields(['unresolved', text]),
        ProblemDetails: fields(['title', text]),
      } as Record<string, Schema>,
    },
  };
}

const findingsOf = (description: unknown) =>
  openApiDifferences(readOpenApi(Buffer.from(JSON.stringify(description)), 'swagger.json')).map(
    ({ kind, text }) => `${kind} ${text}`,
  );

const unnamed = 'unnamed updateWorkflowCSV parameter option';

test('what npm run openapi prints does not differ', () => {
  const findings = findingsOf(JSON.parse(openApi()));
  expect(findings.filter((finding) => finding.startsWith('differs'))).toEqual([]);
});

test('a description of Swashbuckle with the documented names agrees, and names the unnamed parameter', () => {
  expect(findingsOf(describeService())).toEqual([unnamed]);
  expect(findingsOf({ ...describeService(), openapi: '3.0.1' })).toEqual([unnamed]);
});

test('a description with other names than the wire says which', () => {
  expect(findingsOf(describeService(microsoft))).toEqual([
    'differs getGLCodes5 response.list[].Code: described as "code"',
    'differs getGLCodes5 response.list[].Name: described as "name"',
    'differs getGLCodes5 response.list[].Value: described as "value"',
    'differs getGLCodes5 response.list[].Hide: described as "hide"',
    unnamed,
    'differs updateWorkflowCSV body.PictureName: described as "pictureName"',
    'differs updateWorkflowCSV body.PictureStream: described as "pictureStream"',
  ]);
});

test('what differs is said in words', () => {
  const description = describeService();
  const { paths, components } = description;
  const { schemas } = components;
  delete paths['/upgradeToHQ'];
  paths['/restartWorkflow2'] = { post: paths['/restartWorkflow2']?.get };
  paths['/Restoresolution'] = paths['/reStoreSolution'] ?? {};
  delete paths['/reStoreSolution'];
  paths['/updateSolutionGuide'] = {
    get: {
      parameters: [
        { name: 'tenant', in: 'query', required: true, schema: { type: 'string' } },
        { name: 'X-Region', in: 'header', required: true, schema: { type: 'string' } },
        { name: 'dryRun', in: 'query', schema: { type: 'boolean' } },
      ],
      responses: { 200: { description: 'OK' } },
    },
  };
  const missing = [4001, 5, 6, 7, 11, 12];
  const others = targets.filter((target) => !missing.includes(target));
  schemas.Target = { enum: [...others, 13], type: 'integer' };
  schemas.Status = { enum: ['OK', 'FAILED', 'BUSY'], type: 'string' };
  schemas.Unresolved = { type: 'object', properties: { unresolved: { type: 'array', items: {} } } };
  schemas.Approver = {
    type: 'object',
    required: ['name', 'region'],
    properties: {
      ...Object(schemas.Approver).properties,
      approver_id: { type: 'integer', format: 'int32' },
      name: { type: 'string', nullable: true },
      claim_limit: { type: 'string', nullable: true },
      region: { type: 'string' },
      note: { type: 'string' },
    },
  };
  delete Object(schemas.Approver).properties.email;
  schemas.GLCodeInfo = {
    type: 'object',
    properties: { ...Object(schemas.GLCodeInfo).properties, CostCentre: { type: 'string' } },
  };
  const changed = ['upgradeToHQ', 'restartWorkflow2', 'updateSolutionGuide'];
  const statuses = actions.map(({ name }) => name).filter((name) => !changed.includes(name));
  const busy = (place: string) => `differs ${place}.status: the status "BUSY" is not documented`;
  expect(findingsOf(description).toSorted()).toEqual(
    [
      'differs upgradeToHQ: the description has no GET of this path',
      'differs restartWorkflow2: the description has no GET of this path',
      'differs reStoreSolution: described as "Restoresolution"',
      'differs updateSolutionGuide parameter tenant: required, and not sent',
      'differs updateSolutionGuide header X-Region: required, and not sent',
      'unsent updateSolutionGuide parameter dryRun',
      'silent updateSolutionGuide',
      'differs getGLCodes5 parameter target: the description does not allow 5, 6, 7, 11, 12, 4001',
      'differs getGLCodes5 parameter target: the schema does not know 13',
      busy('getGLCodes5 response.service_status'),
      busy('saveApproverList response'),
      ...statuses.map((name) => busy(`${name} response`)),
      'differs updateWorkflowCSV response.unresolved: declared as string, described as array',
      'differs saveApproverList body[].region: required, and not sent',
      'differs saveApproverList body[].email: sent, and not described',
      'differs saveApproverList body[].claim_limit: declared as number, described as string',
      'unsent saveApproverList body[].note',
      'required saveApproverList body[].name',
      'isNull saveApproverList body[].approver_id',
      'int32 saveApproverList body[].approver_id',
      'ignored getGLCodes5 response.list[].CostCentre',
      'others POST /restartWorkflow2',
      unnamed,
    ].toSorted(),
  );
});

test('paths below a common one say how the base URL ends, and several bases differ', () => {
  const { paths, ...others } = describeService();
  const below = (base: (index: number) => string) =>
    Object.fromEntries(
      Object.entries(paths).map(([path, item], index) => [`${base(index)}${path}`, item]),
    );
  expect(findingsOf({ ...others, paths: below(() => '/api/Ledger') })).toEqual([
    unnamed,
    'base /api/Ledger/',
  ]);
  expect(findingsOf({ ...others, paths: below((index) => (index < 3 ? '/a' : '/b')) })).toEqual([
    unnamed,
    'differs paths: are below /a/ and /b/, and there is one base URL',
  ]);
});

/** The GET or the POST of a path of a description. */
function operationOf({ paths }: ReturnType<typeof describeService>, path: string) {
  const { get, post }: Record<string, Schema> = Object(paths[path]);
  return get ?? post ?? {};
}

test.each([
  ['boolean', { type: 'boolean' }],
  ['object', { type: 'object', properties: {} }],
])('a status that is described as %s differs', (type, status) => {
  const description = describeService();
  Object(description.components.schemas.ServiceStatus).properties.status = status;
  expect(findingsOf(description)).toContain(
    `differs saveApproverList response.status: declared as integer or string, described as ${type}`,
  );
});

test('a parameter that is described outside of the query differs', () => {
  const description = describeService();
  Object(operationOf(description, '/getGLCodes5').parameters)[1].in = 'header';
  expect(findingsOf(description)).toEqual([
    'differs getGLCodes5 parameter project: sent, and not described',
    'differs getGLCodes5 header project: required, and not sent',
    unnamed,
  ]);
});

test.each([
  ['multipart/form-data', ['multipart/form-data']],
  ['application/xml or text/xml', ['application/xml', 'text/xml']],
  ['text/json', ['text/json']],
  ['application/*+json', ['application/*+json']],
  ['application/json-patch+json', ['application/json-patch+json']],
])('a request body that is described as %s differs, because JSON is sent', (words, types) => {
  const description = describeService();
  const schema = { type: 'object' };
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  operationOf(description, '/updateWorkflowCSV').requestBody = { content };
  expect(findingsOf(description)).toEqual([
    unnamed,
    `differs updateWorkflowCSV body: sent as application/json, described as ${words}`,
  ]);
});

test.each([
  [{ 'application/xml': 'Approver', 'application/json; charset=utf-8': 'ServiceStatus' }, []],
  [{ 'text/plain': 'Approver', 'application/json': 'ServiceStatus' }, []],
  [{ 'text/plain': 'ServiceStatus' }, []],
  [{ '*/*': 'ServiceStatus' }, []],
  [{ 'application/problem+json; v=1': 'ServiceStatus' }, []],
  [{ 'application/*+xml': 'ServiceStatus' }, ['read as JSON, described as application/*+xml']],
  [{ 'application/xml': 'ServiceStatus' }, ['read as JSON, described as application/xml']],
])('the schema of the response in JSON is compared: %j', (schemas, differences) => {
  const description = describeService();
  const content = Object.fromEntries(
    Object.entries(schemas).map(([type, name]) => [
      type,
      { schema: { $ref: `#/components/schemas/${name}` } },
    ]),
  );
  operationOf(description, '/upgradeToHQ').responses = { 200: { description: 'OK', content } };
  expect(findingsOf(description)).toEqual([
    unnamed,
    ...differences.map((words) => `differs upgradeToHQ response: ${words}`),
  ]);
});

test('a response with 201 is compared', () => {
  const description = describeService();
  const operation = operationOf(description, '/upgradeToHQ');
  const { 200: ok } = Object(operation.responses);
  Object(description.components.schemas.ServiceStatus).properties.invoice_id = { type: 'object' };
  operation.responses = { 201: ok, default: { description: 'An error' } };
  expect(findingsOf(description)).toContain(
    'differs upgradeToHQ response.invoice_id: declared as integer, described as object',
  );
});

test('of several integers of an upload, one must be chosen: the required one, if there is one', () => {
  const description = describeService();
  const mode = { name: 'mode', in: 'query', required: false, schema: { type: 'integer' } };
  const operation = operationOf(description, '/updateWorkflowCSV');
  const [option] = Object(operation.parameters);
  operation.parameters = [option, mode];
  expect(findingsOf(description)).toEqual([
    'unnamed updateWorkflowCSV parameter option or mode: choose one',
  ]);
  mode.required = true;
  expect(findingsOf(description)).toEqual([
    'unnamed updateWorkflowCSV parameter mode',
    'unsent updateWorkflowCSV parameter option',
  ]);
  option.required = true;
  expect(findingsOf(description)).toEqual([
    'differs updateWorkflowCSV parameter option and mode: required, and only one of them is sent',
  ]);
});

test.each([
  ['{"swagger":"2.0"}', 'SerializeAsV2'],
  ['{"openapi":"3.0.1"}', 'paths'],
  ['\n<!DOCTYPE html>', 'swagger.json is not JSON. It begins with "<!DOCTYPE html>".'],
  ['', 'swagger.json is not JSON. It is empty.'],
])('a file that is no OpenAPI 3 is rejected: %j', (text, words) => {
  expect(() => readOpenApi(Buffer.from(text), 'swagger.json')).toThrow(words);
});

test.each(['utf8', 'utf16le'] as const)(
  'a file in %s with a byte order mark is read',
  (encoding) => {
    const bytes = Buffer.from(`\ufeff${JSON.stringify(describeService())}`, encoding);
    expect(readOpenApi(bytes, 'swagger.json').title).toBe('Ledger 1.0.0, OpenAPI 3.0.4');
  },
);

test('a type that contains itself, and a reference that leads nowhere', () => {
  const description = describeService();
  const { schemas } = description.components;
  schemas.GLCodeInfo = {
    type: 'object',
    properties: {
      ...Object(schemas.GLCodeInfo).properties,
      Parent: { $ref: '#/components/schemas/GLCodeInfo' },
    },
  };
  expect(findingsOf(description)).toContain('ignored getGLCodes5 response.list[].Parent');
  delete schemas.Target;
  expect(() => findingsOf(description)).toThrow(
    'The description has no #/components/schemas/Target',
  );
});

test('the command prints what differs below titles, and exits with 0 if nothing does', async () => {
  const run = async (description: object) =>
    contract(['--openapi', await temporaryFile(JSON.stringify(description))]);
  expect(await run(describeService())).toEqual({
    status: 0,
    error: '',
    output: `Ledger 1.0.0, OpenAPI 3.0.4

The description agrees with the declarations.

The parameter without a documented name. Set UPSTREAM_CSV_OPTION_PARAM to it:
  updateWorkflowCSV parameter option
`,
  });
  expect(await run(describeService(microsoft))).toMatchObject({
    status: 1,
    output: expect.stringContaining(
      'The description differs from the declarations:\n  getGLCodes5 response.list[].Code: described as "code"\n',
    ),
  });
});
