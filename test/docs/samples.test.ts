import { beforeAll, expect, test } from '@jest/globals';
import { Kind, parse, print } from 'graphql';
import { workloads } from '../../bench/workloads.ts';
import { startReferenceService } from '../../dev/service.ts';
import { WorkflowAction } from '../../src/generated/resolvers.ts';
import { readPolicy } from '../../src/policy/policy-file.ts';
import { ledger } from '../../src/resolvers/ledger.ts';
import * as attack from '../../stress/attack-documents.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { furtherArguments } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { budgetsSdl, tripsSdl } from '../federation/composition.ts';
import { blocksOf, curlCommands, operationsOf } from './samples.ts';

/*
 * Sends the samples of the pages, of the client package and of the web app, and the operations of the stress tests, of the
 * benchmark and of the checks in `deploy/`, to a gateway in front of the reference service.
 */

let gateway: Awaited<ReturnType<typeof startTestGateway>>;
let issuer: Awaited<ReturnType<typeof testIssuer>>;

beforeAll(async () => {
  issuer = await testIssuer();
  const service = await startReferenceService({ issuerKeys: issuer.jwks });
  closeAfterTest(() => service.close());
  gateway = await startTestGateway(service, { INTROSPECTION: 'true' });
});

/** A value of each type that an operation has a variable of. */
const values: Record<string, unknown> = {
  String: 'AAAA',
  Int: 1,
  Float: 1,
  Boolean: true,
  IntegrationTarget: 'EMAIL',
  GlCodeOrder: 'CODE',
  WorkflowAction: 'RESTART',
  ApproverInput: { name: 'Ada' },
  WorkflowCsvInput: { fileName: 'approvers.csv', csv: 'Ada' },
  _Any: { __typename: 'GlCode', id: '5/north-plant/4010' },
};

/** A value for each variable of an operation. One value in place of a list is a list of it. */
function variablesOf(document: string): Record<string, unknown> {
  const variables = parse(document).definitions.flatMap((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION ? (definition.variableDefinitions ?? []) : [],
  );
  return Object.fromEntries(
    variables.map(({ variable, type }) => [
      variable.name.value,
      values[print(type).replaceAll(/[[\]!]/g, '')],
    ]),
  );
}

const pages = blocksOf('graphql').filter(({ text }) => !text.startsWith('type '));
const operations = [
  ...pages,
  ...operationsOf('packages/client/examples/*.ts', 'examples/web/src/documents/*', 'deploy/*.ts'),
  ...operationsOf('stress/!(attack*).ts', 'stress/*/*.ts'),
  ...Object.entries({
    lists: attack.listsOf(2, String),
    settling: attack.settleOf('k'),
    uploads: attack.uploads(2, 2),
    references: attack.referenceQuery('code'),
    part: attack.codesQuery('north-plant', 'codes { code }'),
    'costly to compile': attack.compiledQuery(1),
    wide: attack.wideQuery,
    message: attack.messageQuery,
    parts: attack.partsQuery,
    upload: attack.uploadMutation,
    approvers: attack.approversMutation,
    long: attack.longQuery,
    'too long': attack.tooLongQuery,
    missing: attack.missingQuery,
  }).map(([name, text]) => ({ where: `an attack, ${name}`, text })),
];

test('every kind of sample is found', () => {
  for (const start of ['README', 'docs', 'packages', 'examples', 'deploy', 'stress']) {
    expect(operations.map(({ where }) => where)).toContainEqual(expect.stringMatching(`^${start}`));
  }
});

/** The app lets the user select any action. Its variables have the names of the arguments. */
const ofActions = operations.filter(
  ({ where, text }) => where.startsWith('examples/web/') && text.includes(': WorkflowAction!'),
);
const others = operations.filter((one) => !ofActions.includes(one));

test.each(others)('the operation of $where succeeds', async ({ text }) => {
  const { status, errors } = await gateway.graphql(text, variablesOf(text));
  expect([status, errors]).toEqual([200, undefined]);
});

test.each(ofActions)('the operation of $where succeeds with each action', async ({ text }) => {
  for (const action of Object.keys(WorkflowAction)) {
    const variables = { action, ...furtherArguments[action] };
    const { status, errors } = await gateway.graphql(text, variables);
    expect([action, status, errors]).toEqual([action, 200, undefined]);
  }
});

test.each(workloads)('the operation of the benchmark for $title succeeds', async (workload) => {
  const { status, errors } = await gateway.graphql(workload.query, workload.variables(0));
  expect([status, errors]).toEqual([200, undefined]);
});

const responses = ['README.md', 'docs/tutorial/first-query.md'].flatMap((page) => {
  const shown = blocksOf('json', page);
  return blocksOf('graphql', page).map((sample, n) => ({ ...sample, response: shown[n]?.text }));
});

test.each(responses)('the gateway responds to $where what follows there', async (sample) => {
  const { text } = await gateway.post({ query: sample.text });
  expect(JSON.parse(text)).toEqual(JSON.parse(sample.response ?? ''));
});

/** The origins on the pages, and what has them here. */
const origins = (): [string, string][] => [
  ['https://ledger.example.com/', `${gateway.url}/`],
  ['https://router.example.com/', `${gateway.url}/`],
  ['http://localhost:4200/', `${gateway.url}/`],
  ['http://127.0.0.1:4000/', `${gateway.url}/`],
  ['http://127.0.0.1:4010/', issuer.url],
  ['$TOKEN', gateway.token],
];

/** Sends what a curl command sends: with the options that the pages use, and no others. */
async function run(command: string): Promise<Response> {
  const [, ...words] = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((match) =>
    origins().reduce(
      (word, [from, to]) => word.replace(from, to),
      match.slice(1).find((word) => word !== undefined) ?? '',
    ),
  );
  const headers = new Headers();
  let [url, body]: [URL | undefined, string | undefined] = [undefined, undefined];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const value = () => words.shift() ?? '';
    if (word === '-H') headers.append(...splitAt(': ', value()));
    else if (word === '--data') body = value();
    else if (word === '--json') {
      headers.append('content-type', 'application/json');
      body = value();
    } else if (word === '--data-urlencode') url?.searchParams.append(...splitAt('=', value()));
    else if (!/^-[isG]+$/.test(word)) url = new URL(word);
  }
  if (!url) throw new Error(`No URL in ${command}`);
  return fetch(url, { method: body === undefined ? 'GET' : 'POST', headers, body: body ?? null });
}

function splitAt(separator: string, text: string): [string, string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + separator.length)];
}

test.each(curlCommands())('$where works: $text', async ({ text }) => {
  const response = await run(text);
  expect(response.status).toBe(200);
  const body = await response.text();
  expect(body).not.toContain('"errors"');
});

const policyBlocks = blocksOf('json', 'docs/reference/policy.md');

test.each(policyBlocks)('$where is a policy without a fault, or what it covers', ({ text }) => {
  const [first] = policyBlocks;
  const isPolicy = /^\{\s*"(operations|writes)"/.test(text);
  const { covers } = readPolicy((isPolicy ? text : first?.text) ?? '', ledger.operations);
  if (isPolicy) expect(Object.keys(covers)).not.toEqual([]);
  else expect(covers).toMatchObject(JSON.parse(text));
});

test.each(blocksOf('json', 'docs/how-to/freeze.md'))(
  '$where is a policy that stops writes',
  ({ text }) => {
    expect(() => readPolicy(text, ledger.operations)).not.toThrow();
    expect(text).toContain('"stopped"');
  },
);

test.each(blocksOf('graphql', 'docs/{how-to/federation,tutorial/federated-graph}.md'))(
  '$where has types of an example, which composes',
  ({ text }) => {
    const known = parse(`${budgetsSdl} ${tripsSdl}`).definitions.map(print);
    const types = parse(text).definitions.map(print);
    expect(known.map((one) => one.replace(/^"""(.|\n)*?"""\n/, ''))).toEqual(
      expect.arrayContaining(types),
    );
  },
);

test('the page of errors shows the faults of an input', async () => {
  const [sample] = blocksOf('json', 'docs/reference/errors.md');
  const mutation = 'mutation { saveApprovers(approvers: [{ approverId: "x" }]) { __typename } }';
  const { errors } = await gateway.graphql(mutation);
  expect(errors?.[0]?.extensions).toMatchObject(JSON.parse(sample?.text ?? ''));
});
