import { buildSubgraphSchema } from '@apollo/subgraph';
import { expect, test } from '@jest/globals';
import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isScalarType,
  isUnionType,
  Kind,
  parse,
  visit,
} from 'graphql';
import {
  budgetsSdl,
  composeWithApollo,
  composeWithTheGuild,
  invoicesSdl,
  ledgerSdl,
} from './composition.ts';

const ledger = { name: 'ledger', sdl: ledgerSdl };
const invoices = { name: 'invoices', sdl: invoicesSdl };

const budgets = { name: 'budgets', sdl: budgetsSdl };

const composers = [
  ['@apollo/composition', composeWithApollo],
  ['@theguild/federation-composition', composeWithTheGuild],
] as const;

test.each(composers)('%s composes the gateway alone', (name, compose) => {
  const { errors, hints, supergraphSdl } = compose([ledger]);
  print(name, hints);
  expect(errors).toEqual([]);
  expect(supergraphSdl).toContain('GlCodesResult');
});

test.each(composers)(
  '%s composes the gateway with a subgraph that refers to GL codes',
  (name, compose) => {
    const { errors, hints, supergraphSdl = '' } = compose([ledger, invoices]);
    print(name, hints);
    expect(errors).toEqual([]);
    const types = parse(supergraphSdl).definitions.flatMap((definition) =>
      'name' in definition && definition.name ? [definition.name.value] : [],
    );
    expect(types).toEqual(
      expect.arrayContaining(['NotPermitted', 'Failed', 'Status', 'LedgerNotPermitted', 'GlCode']),
    );
  },
);

test.each(composers)('%s composes a subgraph that refers to GL codes by id', (name, compose) => {
  expect(budgetsSdl).not.toContain('enum ');
  for (const others of [[], [invoices]]) {
    const { errors, hints, supergraphSdl } = compose([ledger, budgets, ...others]);
    print(name, hints);
    expect(errors).toEqual([]);
    expect(supergraphSdl).toMatch(/type GlCode[^{]*@join__type\(graph: LEDGER, key: "id"\)/);
  }
});

test.each(composers)('%s rejects a subgraph that contradicts the gateway', (_, compose) => {
  const sdl = invoicesSdl.replace('project: String!', 'project: Int!');
  expect(sdl).not.toBe(invoicesSdl);
  const { errors, supergraphSdl } = compose([ledger, { name: 'invoices', sdl }]);
  expect(supergraphSdl).toBeUndefined();
  expect(errors.join()).toMatch(/project/);
});

test.each(composers)(
  '%s rejects a subgraph in which an integration target is missing',
  (_, compose) => {
    const sdl = invoicesSdl.replace(/^ {2}TARGET_51\n/m, '');
    expect(sdl).not.toBe(invoicesSdl);
    const { errors, supergraphSdl } = compose([ledger, { name: 'invoices', sdl }]);
    expect(supergraphSdl).toBeUndefined();
    expect(errors.join()).toMatch(/TARGET_51/);
  },
);

test.each(composers)('%s rejects a subgraph with an unknown field in a key', (_, compose) => {
  const sdl = ledgerSdl.replace('"target project code"', '"target project nothing"');
  expect(sdl).not.toBe(ledgerSdl);
  const { errors, supergraphSdl } = compose([{ name: 'ledger', sdl }]);
  expect(supergraphSdl).toBeUndefined();
  expect(errors.join()).toMatch(/nothing/);
});

/** Prints hints, which do not fail a test. */
function print(name: string, hints: string[]): void {
  for (const hint of hints) process.stdout.write(`${name}: ${hint}\n`);
}

/** Everything in a type that can have a description, by its path. */
function describable(type: GraphQLNamedType): [path: string, description: unknown][] {
  const { name } = type;
  const found: [string, unknown][] = [[name, type.description]];
  if (isEnumType(type)) {
    for (const value of type.getValues()) found.push([`${name}.${value.name}`, value.description]);
  } else if (isInputObjectType(type)) {
    for (const field of Object.values(type.getFields())) {
      found.push([`${name}.${field.name}`, field.description]);
    }
  } else if (isObjectType(type) || isInterfaceType(type)) {
    for (const field of Object.values(type.getFields())) {
      found.push([`${name}.${field.name}`, field.description]);
      for (const argument of field.args) {
        found.push([`${name}.${field.name}(${argument.name})`, argument.description]);
      }
    }
  } else if (!isUnionType(type) && !isScalarType(type)) {
    throw new Error(`unknown kind of type: ${name}`);
  }
  return found;
}

test('every type, field, argument and enum value has a description', () => {
  const document = parse(ledgerSdl);
  const names = document.definitions.flatMap((definition) =>
    'name' in definition && definition.name ? [definition.name.value] : [],
  );
  const schema = buildSubgraphSchema(document);

  const all = names.flatMap((name) => {
    const type = schema.getType(name);
    return type ? describable(type) : [];
  });
  // The root fields of Federation come without a description.
  const undescribed = all.filter(
    ([path, description]) => !description && !/\._(service|entities)/.test(path),
  );

  expect(all.length).toBeGreaterThan(100);
  expect(undescribed.map(([path]) => path)).toEqual([]);
});

test('the schema uses no directive that a composer strips', () => {
  const used = new Set<string>();
  visit(parse(ledgerSdl), {
    [Kind.DIRECTIVE](node) {
      used.add(node.name.value);
    },
  });
  expect([...used].sort()).toEqual(['key', 'link']);
});
