import { expect, test } from '@jest/globals';
import { type GraphQLArgument, getNamedType, isEnumType, isObjectType, Kind } from 'graphql';
import { ledger } from '../../src/resolvers/ledger.ts';
import { json } from '../../testkit/service.ts';
import { eachText, given, rootFields } from '../support/argument-literals.ts';
import { schema } from '../support/schema.ts';
import { shareGateway } from '../support/shared-gateway.ts';

/*
 * What the schema accepts and a declaration does not, such as a parameter that only one action requires, is a fault of the
 * client. `argumentChecks` in src/resolvers/ledger.ts says it.
 */

const share = shareGateway({ UPSTREAM_CSV_OPTION_PARAM: 'type' });
const texts = ['x', '', '007', '10.50', '\ud800'];

/** The arguments once for each value of each enum. */
function argumentsOf(args: readonly GraphQLArgument[], isFull: boolean): string[] {
  const all = given(args, { text: '$text', isFull });
  const variants = args.flatMap(({ name, type }) => {
    const named = getNamedType(type);
    const values = isEnumType(named) ? named.getValues() : [];
    return values.map((value) =>
      all.replace(new RegExp(`\\b${name}: \\w+`), `${name}: ${value.name}`),
    );
  });
  const emptied = all.replaceAll(/\[[^[\]]*\]/g, '[]');
  return [...new Set([all, ...variants, emptied])];
}

test.each(rootFields)(
  'arguments of $name that cannot be sent are BAD_USER_INPUT',
  async (field) => {
    const { gateway } = share(
      json({ status: 0, unresolved: '', service_status: { status: 0 }, list: [] }),
    );
    const failed: unknown[] = [];
    // Each text also on its own, because the fault of another one would hide that it is not checked.
    const single = eachText(field.args, {
      text: '$text',
      isTested: (_, type) => `${type}` === 'String',
    });
    const all = [true, false].flatMap((isFull) => argumentsOf(field.args, isFull));
    for (const args of [...all, ...single.map(({ literal }) => literal)]) {
      const hasText = args.includes('$text');
      const call = `${field.name}${args && `(${args})`} { __typename }`;
      const query = `${field.keyword} ${hasText ? '($text: String!)' : ''} { ${call} }`;
      for (const text of hasText ? texts : ['']) {
        const { errors } = await gateway.graphql(query, hasText ? { text } : {});
        const code = errors?.[0]?.extensions.code;
        if (/^(INTERNAL_SERVER_ERROR|GRAPHQL_VALIDATION_FAILED)$/.test(`${code}`))
          failed.push([call, text, code]);
      }
    }
    expect(failed).toEqual([]);
  },
);

test.each(Object.keys(ledger.entities))(
  'the fields of a reference to %s that cannot be sent are BAD_USER_INPUT',
  async (name) => {
    const { service, gateway } = share(json({ service_status: { status: 0 }, list: [] }));
    const type = schema.getType(name);
    const keys = isObjectType(type) ? (type.astNode?.directives ?? []) : [];
    const failed: unknown[] = [];
    for (const text of [...texts, 'x'.repeat(100_000)]) {
      for (const { arguments: [fields] = [] } of keys) {
        const names = fields?.value.kind === Kind.STRING ? fields.value.value.split(' ') : [];
        // Each field on its own, because the fault of another one would hide that it is not checked.
        for (const tested of names) {
          const values = names.map((field) => {
            const named = isObjectType(type) && getNamedType(type.getFields()[field]?.type);
            const other = field === tested ? text : '1';
            return [field, isEnumType(named) ? named.getValues()[0]?.name : other];
          });
          const reference = { __typename: name, ...Object.fromEntries(values) };
          const query = 'query ($of: [_Any!]!) { _entities(representations: $of) { __typename } }';
          const { errors } = await gateway.graphql(query, { of: [reference] });
          const code = errors?.[0]?.extensions.code;
          if (code === 'INTERNAL_SERVER_ERROR') failed.push([tested, text.slice(0, 9), code]);
        }
      }
    }
    failed.push(...service.received.filter(({ url }) => url.length > 10_000));
    expect([failed, keys.length > 0]).toEqual([[], true]);
  },
);
