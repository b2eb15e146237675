import { expect, test } from '@jest/globals';
import { Kind, parse, print, visit } from 'graphql';
import { addDirectives } from '../../examples/federation/add-directives.ts';
import {
  budgetsSdl,
  composeWithApollo,
  composeWithCosmo,
  composeWithTheGuild,
  exampleDirectives,
  ledgerSdl,
  type Subgraph,
  tripsSdl,
} from './composition.ts';

const ledger = { name: 'ledger', sdl: ledgerSdl };
const trips = { name: 'trips', sdl: tripsSdl };

const budgets = { name: 'budgets', sdl: budgetsSdl };

const composers = [
  ['@apollo/composition', composeWithApollo],
  ['@theguild/federation-composition', composeWithTheGuild],
  ['@wundergraph/composition', composeWithCosmo],
] as const;

const ofType = (name: string) => new RegExp(`^\\w+ ${name}\\b`, 'm');

/** Graphs that compose, and what their supergraphs contain. */
const graphs: [what: string, others: Subgraph[], parts: RegExp[]][] = [
  ['alone', [], [/GlCodesResult/]],
  [
    'with a subgraph that refers to GL codes and has types of the same names without the prefix',
    [trips],
    'NotPermitted Failed Status LedgerNotPermitted GlCode'.split(' ').map(ofType),
  ],
  ['with one that refers to GL codes by id', [budgets], [ofType('Budget')]],
  ['with both', [budgets, trips], ['Budget', 'Trip'].map(ofType)],
];

test.each(composers.flatMap((composer) => graphs.map((graph) => [...composer, ...graph] as const)))(
  '%s composes the gateway',
  (_, compose, __, others, parts) => {
    const { errors, supergraphSdl } = compose([ledger, ...others]);
    expect(errors).toEqual([]);
    for (const part of parts) expect(supergraphSdl).toMatch(part);
    // The texts of the limits remain in the descriptions.
    expect(supergraphSdl).not.toContain('@limit(');
    expect(budgetsSdl).not.toContain('enum ');
  },
);

test.each(composers)('%s: `@provides` of a field of a GL code', (composer, compose) => {
  const provided = budgetsSdl
    .replace('glCode: GlCode', 'glCode: GlCode @provides(fields: "name")')
    .replace(/(type GlCode[^{]*\{)/, '$1 name: String @external')
    .replace('"@key"', '"@key", "@provides", "@external"');
  const { errors } = compose([ledger, { name: 'budgets', sdl: provided }]);
  const isApollo = composer === '@apollo/composition';
  expect(errors).toEqual(isApollo ? [expect.stringContaining('GlCode.name')] : []);
});

test('a contract of Cosmo with the tag of the example contains what has the tag, and composes', () => {
  const sdl = addDirectives(ledgerSdl, JSON.parse(exampleDirectives));
  const { errors, supergraphSdl } = composeWithCosmo([{ name: 'ledger', sdl }], 'partner');
  expect(errors).toEqual([]);
  expect(supergraphSdl).toMatch(/glCodes/);
});

test.each(composers)('%s composes the gateway with the directives of a graph', (_, compose) => {
  const sdl = addDirectives(ledgerSdl, JSON.parse(exampleDirectives));
  const { errors, supergraphSdl = '' } = compose([{ name: 'ledger', sdl }, trips]);
  expect(errors).toEqual([]);
  const directivesOf = new Map<string, string[]>();
  visit(parse(supergraphSdl), {
    FieldDefinition({ name, directives: used = [] }) {
      directivesOf.set(name.value, used.map(print));
    },
  });
  expect(directivesOf.get('workflowAction')).toContain(
    '@requiresScopes(scopes: [["ledger:workflows"]])',
  );
  expect(directivesOf.get('glCodes')).toContain('@tag(name: "partner")');
  // On the fields, because Cosmo ignores it on the type.
  for (const field of ['saveApprovers', 'uploadWorkflowCsv', 'workflowAction', 'settleWrites']) {
    expect([field, directivesOf.get(field)]).toEqual([
      field,
      expect.arrayContaining(['@authenticated']),
    ]);
  }
  expect(supergraphSdl).toMatch(/union GlCodesResult[^=]*@tag\(name: "partner"\)/);
});

test('directives for what the schema does not have are a fault that names it', () => {
  const misspelled = { 'Mutation.workflowactions': '@authenticated', Mutation: '@authenticated' };
  expect(() => addDirectives(ledgerSdl, misspelled)).toThrow(
    'The schema has no type, field or enum value Mutation.workflowactions',
  );
});

test.each(['', 'authenticated', '@authenticated(', '@authenticated type More { id: ID }'])(
  'the text %p is a fault that names its coordinate',
  (text) => {
    expect(() => addDirectives(ledgerSdl, { 'Query.glCodes': text })).toThrow(
      `Query.glCodes: ${JSON.stringify(text)} is no list of directives such as "@authenticated"`,
    );
  },
);

test('every type, field, argument and enum value has a description', () => {
  const undescribed: string[] = [];
  let described = 0;
  visit(parse(ledgerSdl), {
    enter(node) {
      if (node.kind === Kind.SCHEMA_EXTENSION || !('name' in node && 'description' in node)) return;
      if (node.description) described += 1;
      else undescribed.push(`${node.kind} ${node.name?.value}`);
    },
  });
  expect(described).toBeGreaterThan(100);
  expect(undescribed).toEqual([]);
});

test('the schema uses no directive that a composer strips, but for the limits, which the gateway checks', () => {
  const used = new Set<string>();
  visit(parse(ledgerSdl), {
    [Kind.DIRECTIVE](node) {
      used.add(node.name.value);
    },
  });
  expect([...used].sort()).toEqual(['key', 'limit', 'link']);
});
