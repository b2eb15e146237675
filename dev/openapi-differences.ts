import { z } from 'zod';
import { ledger } from '../src/resolvers/ledger.ts';
import type { Operation } from '../src/upstream/operations.ts';
import { plainName } from '../src/upstream/problem-faults.ts';
import { serviceStatus } from '../src/upstream/responses.ts';
import type { WireType } from '../src/upstream/wire-types.ts';
import type { Body, Described, OpenApiFile, Parameter, Shape } from './openapi-file.ts';
import { isDocumented } from './wire-differences.ts';

/** What a finding is about. `differs` is what the gateway sends or reads in another way than described; the others are notes. */
export const titles = {
  differs: 'The description differs from the declarations:',
  unnamed: 'The parameter without a documented name. Set UPSTREAM_CSV_OPTION_PARAM to it:',
  base: 'UPSTREAM_BASE_URL must end with this path:',
  silent: 'The description does not say what the response is:',
  required:
    'The description requires it, and an app may leave it out. The service may then reject the request:',
  isNull:
    'An app may send null, and the description does not allow it. The service may then reject the request:',
  int32:
    'Integers of any size are sent, and the description says 32 bits. The service may reject larger ones:',
  unsent: 'Described, and the gateway does not send it:',
  ignored: 'Described, and the gateway ignores it:',
  others: 'Other operations of the service:',
} as const;

export type Finding = { readonly kind: keyof typeof titles; readonly text: string };

const differs = (place: string, words: string): Finding => ({
  kind: 'differs',
  text: `${place}: ${words}`,
});

/** Compares the declarations of all operations with a description of the service. */
export function openApiDifferences({ operations: described }: OpenApiFile): Finding[] {
  const pairs = ledger.operations.map((operation) => ({
    operation,
    one: findOperation(operation, described),
  }));
  const found = new Set(pairs.flatMap(({ one }) => one ?? []));
  const bases = new Set([...found].map(({ path }) => path.replace(/[^/]*$/, '')));
  const others = described.filter((one) => !found.has(one));
  return [
    ...pairs.flatMap(({ operation, one }) =>
      one
        ? compareOperation(operation, one)
        : [differs(operation.name, `the description has no ${operation.method} of this path`)],
    ),
    ...(bases.size > 1
      ? [differs('paths', `are below ${[...bases].join(' and ')}, and there is one base URL`)]
      : [...bases].flatMap((text): Finding[] => (text === '/' ? [] : [{ kind: 'base', text }]))),
    ...others.map(({ method, path }): Finding => ({ kind: 'others', text: `${method} ${path}` })),
  ];
}

/** The described operation whose path ends with the name. ASP.NET Core does not distinguish upper and lower case in paths. */
function findOperation({ name, method }: Operation, described: readonly Described[]) {
  return closest(
    described.filter((one) => one.method === method),
    name,
    lastStep,
  );
}

const lastStep = ({ path }: Described) => path.slice(path.lastIndexOf('/') + 1);

/** The item with this name. If there is none, one whose name differs only in case and underscores. */
function closest<Item>(items: readonly Item[], name: string, nameOf: (item: Item) => string) {
  return (
    items.find((item) => nameOf(item) === name) ??
    items.find((item) => plainName(nameOf(item)) === plainName(name))
  );
}

function compareOperation(operation: Operation, described: Described): Finding[] {
  const { name, body, response } = operation;
  const findings = compareParameters(operation, described.parameters);
  if (lastStep(described) !== name) {
    findings.push(differs(name, `described as "${lastStep(described)}"`));
  }
  if (body && described.body) findings.push(...compareRequest(body, described.body, name));
  else if (body) findings.push(differs(name, 'a body is sent, and none is described'));
  else if (described.body) findings.push(differs(name, 'a body is described, and none is sent'));
  return [...findings, ...compareResponse(response.wire, described.response, name)];
}

/** The gateway sends `application/json`, and a service rejects a type that it does not list. */
function compareRequest(declared: WireType, described: Body, name: string): Finding[] {
  const place = `${name} body`;
  const type = closestType(described, /^(application\/json|(application|\*)\/\*)\s*(;|$)/i);
  if (type === undefined) {
    return [differs(place, `sent as application/json, described as ${typesOf(described)}`)];
  }
  const shape = described.get(type);
  return shape ? compare(declared, shape, place, true) : [];
}

/** The gateway reads each response as JSON, whatever its type. So only a type that cannot be JSON differs. */
function compareResponse(
  wire: readonly WireType[],
  described: Body | undefined,
  name: string,
): Finding[] {
  const place = `${name} response`;
  if (!described) return [{ kind: 'silent', text: name }];
  const type = closestType(described, /json|^text\/plain|^(application|\*)\/\*\s*(;|$)/i);
  if (type === undefined) {
    return [differs(place, `read as JSON, described as ${typesOf(described)}`)];
  }
  const shape = described.get(type);
  if (!shape) return [{ kind: 'silent', text: name }];
  // A service may respond with one of several records: the one that fits best is meant.
  const [best = []] = wire
    .map((one) => compare(one, shape, place, false))
    .toSorted((a, b) => differencesIn(a) - differencesIn(b));
  return best;
}

/** The media type of a body whose schema is compared: `application/json`, which the gateway sends and prefers, or one that fits. */
function closestType(body: Body, fitting: RegExp): string | undefined {
  const types = [...body.keys()].filter((type) => fitting.test(type));
  return types.find((type) => /^application\/json\s*(;|$)/i.test(type)) ?? types[0];
}

const typesOf = (body: Body) => [...body.keys()].join(' or ');

const differencesIn = (findings: readonly Finding[]) =>
  findings.filter(({ kind }) => kind === 'differs').length;

function compareParameters(
  { name, parameters }: Operation,
  described: readonly Parameter[],
): Finding[] {
  const { properties = {}, additionalProperties }: WireType = parameters;
  const inQuery = described.filter((one) => one.in === 'query');
  const sent = Object.keys(properties).map((declared) => closest(inQuery, declared, nameOf));
  const unnamed = additionalProperties
    ? unnamedAmong(inQuery.filter((one) => !sent.includes(one)))
    : [];
  const named = inQuery.filter((one) => !unnamed.includes(one));
  const fields = new Map(named.map((one) => [one.name, one.schema]));
  const required = named.filter((one) => one.required).map(nameOf);
  const at = (parameter: string) => `${name} parameter ${parameter}`;
  return [
    ...compareUnnamed(name, additionalProperties, unnamed),
    ...compareFields(parameters, { fields, required }, at, true),
    ...described
      .filter((one) => one.in !== 'query')
      .map((one) => unsent(`${name} ${one.in} ${one.name}`, one.required)),
  ];
}

const nameOf = ({ name }: Parameter) => name;

const unsent = (text: string, isRequired: boolean): Finding =>
  isRequired ? differs(text, 'required, and not sent') : { kind: 'unsent', text };

/** The parameters that may be the one without a documented name: an integer, which is required if there is a required one. */
function unnamedAmong(parameters: readonly Parameter[]): readonly Parameter[] {
  const integers = parameters.filter(({ schema }) => schema.types.includes('integer'));
  const required = integers.filter((one) => one.required);
  return required.length > 0 ? required : integers;
}

function compareUnnamed(
  name: string,
  type: WireType | undefined,
  [first, ...more]: readonly Parameter[],
): Finding[] {
  if (!type || !first) return [];
  const place = `${name} parameter ${first.name}`;
  if (more.length === 0) {
    return [{ kind: 'unnamed', text: place }, ...compare(type, first.schema, place, true)];
  }
  const names = [place, ...more.map((one) => one.name)];
  return first.required
    ? [differs(names.join(' and '), 'required, and only one of them is sent')]
    : [{ kind: 'unnamed', text: `${names.join(' or ')}: choose one` }];
}

/** Compares a declared type with a described one. */
function compare(declared: WireType, described: Shape, place: string, isSent: boolean): Finding[] {
  const { items, properties, documented, type, exact } = declared;
  const isStatus = declared === serviceStatus.properties.status;
  const expected = isStatus ? ['integer', 'string'] : [documented ?? type ?? []].flat();
  const { types, format, isNullable } = described;
  if (types.length > 0 && !expected.some((one) => fits(one, types))) {
    const words = expected.filter((one) => one !== 'null').join(' or ');
    return [differs(place, `declared as ${words}, described as ${types.join(' or ')}`)];
  }
  if (isStatus) return compareStatus(described, place);
  const findings: Finding[] = [...compareValues(declared, described, place)];
  if (isSent && types.length > 0 && expected.includes('null') && !isNullable) {
    findings.push({ kind: 'isNull', text: place });
  }
  if (isSent && exact && format === 'int32') findings.push({ kind: 'int32', text: place });
  if (items && described.items) {
    findings.push(...compare(items, described.items, `${place}[]`, isSent));
  }
  const at = (name: string) => `${place}.${name}`;
  if (properties) findings.push(...compareFields(declared, described, at, isSent));
  return findings;
}

const fits = (expected: string, types: readonly string[]) =>
  types.includes(expected) || (expected === 'integer' && types.includes('number'));

/** Compares the fields of a record, or the parameters of a query. `at` is how a finding names one. */
function compareFields(
  { properties = {}, required = [] }: WireType,
  described: Pick<Shape, 'fields' | 'required'>,
  at: (name: string) => string,
  isSent: boolean,
): Finding[] {
  const names = [...described.fields.keys()];
  const found = new Set<string>();
  const findings = Object.entries(properties).flatMap(([name, type]) => {
    const actual = closest(names, name, (one) => one);
    const shape = actual === undefined ? undefined : described.fields.get(actual);
    if (actual === undefined || !shape) {
      return [differs(at(name), isSent ? 'sent, and not described' : 'not described')];
    }
    found.add(actual);
    const isLeftOut = isSent && described.required.includes(actual) && !required.includes(name);
    return [
      ...(actual === name ? [] : [differs(at(name), `described as "${actual}"`)]),
      ...(isLeftOut ? [{ kind: 'required', text: at(name) } as const] : []),
      ...compare(type, shape, at(name), isSent),
    ];
  });
  const others = names.filter((name) => !found.has(name));
  return [
    ...findings,
    ...others.map((name): Finding => {
      if (!isSent) return { kind: 'ignored', text: at(name) };
      return unsent(at(name), described.required.includes(name));
    }),
  ];
}

/** What `integerIn` of the declarations makes of its ranges. */
const integers = z.object({
  anyOf: z.array(z.object({ minimum: z.number(), maximum: z.number() })).default([]),
});

/** Compares the allowed integers of a parameter. */
function compareValues(declared: WireType, { values }: Shape, place: string): Finding[] {
  const allowed = integers
    .parse(declared)
    .anyOf.flatMap(({ minimum, maximum }) =>
      Array.from({ length: maximum - minimum + 1 }, (_, index) => minimum + index),
    );
  if (allowed.length === 0 || values.length === 0) return [];
  const describe = (words: string, list: readonly unknown[]) =>
    list.length > 0 ? [differs(place, `${words} ${list.join(', ')}`)] : [];
  return [
    ...describe(
      'the description does not allow',
      allowed.filter((one) => !values.includes(one)),
    ),
    ...describe(
      'the schema does not know',
      values.filter((one) => !allowed.some((it) => it === one)),
    ),
  ];
}

/** A status may also be described by its labels, which the gateway reads, too. */
function compareStatus({ values }: Shape, place: string): Finding[] {
  return values
    .filter((status) => !isDocumented(status))
    .map((status) => differs(place, `the status ${JSON.stringify(status)} is not documented`));
}
