import type { IncomingHttpHeaders } from 'node:http';
import type { InputFault, Path } from '../errors/input-fault.ts';
import { shorten } from '../lib/short-text.ts';
import type { Encoded, Operation } from './operations.ts';
import type { WireType } from './wire-types.ts';

/** How many faults of a request are passed on at most, and how many characters of each, besides the sign that it was cut. */
const [MAX_FAULTS, MAX_MESSAGE] = [10, 299];

/** A request: its query, what its operation declares, and to which argument of the root field a path in it belongs. */
export type SentRequest = Pick<Encoded<Operation>, 'search'> & {
  readonly operation: Pick<Operation, 'parameters' | 'body' | 'argumentOf'>;
};

/**
 * The faults of a request that a service names in a body of `application/problem+json`: as ASP.NET Core does (`errors` by
 * paths such as `$[0].approver_id`), or as RFC 9457 shows it (`errors` with a `pointer` such as `#/0/approver_id`). Their paths are
 * those of the arguments.
 */
export function problemFaults(
  { 'content-type': type = '' }: IncomingHttpHeaders,
  body: unknown,
  { search, operation }: SentRequest,
): InputFault[] {
  if (!/^application\/problem\+json\s*(;|$)/i.test(type)) return [];
  const { errors }: { errors?: unknown } = Object(body);
  if (typeof errors !== 'object' || errors === null) return [];
  const found = Array.isArray(errors) ? errors.map(pointedFault) : Object.entries(errors);
  const faults = found.flatMap(([path, texts]) =>
    [texts].flat().flatMap((text) => (typeof text === 'string' ? [{ path, text }] : [])),
  );
  const { parameters, argumentOf = argumentPath } = operation;
  const types: WireType[] = [withNames(parameters, search), operation.body ?? {}];
  return faults.slice(0, MAX_FAULTS).map(({ path, text }) => ({
    path: argumentOf(declaredPath(path, types)),
    message: shorten(text, MAX_MESSAGE),
  }));
}

/** The type of the parameters, with the name under which the one without a documented name was sent. */
function withNames(type: WireType, search: string): WireType {
  const { additionalProperties: unnamed } = type;
  if (!unnamed) return type;
  const names = new URLSearchParams(search).keys();
  return { ...type, properties: Object.fromEntries([...names].map((name) => [name, unnamed])) };
}

/** The path and the text of an item of `errors`, as RFC 9457 shows it. */
function pointedFault(error: unknown): [path: string, text: unknown] {
  const { pointer, detail }: { pointer?: unknown; detail?: unknown } = Object(error);
  const path = typeof pointer === 'string' ? pointer : '';
  return [path.replaceAll('/', '.').replace(/^#/, ''), detail];
}

/** The part of a path that names declared fields, with their declared names. Services write them with other cases. */
function declaredPath(path: string, types: readonly WireType[]): Path {
  const declared: Path = [];
  let current = types;
  for (const step of path.match(/[^.[\]$]+/g) ?? []) {
    const items = current.flatMap(({ items }) => (items ? [items] : []));
    const fields = current.flatMap(({ properties = {} }) => Object.entries(properties));
    const [name, field] = fields.find(([name]) => plainName(name) === plainName(step)) ?? [];
    const isIndex = /^\d{1,9}$/.test(step) && items.length > 0;
    if (!isIndex && !field) break;
    declared.push(isIndex ? Number(step) : (name ?? ''));
    current = isIndex ? items : field ? [field] : [];
  }
  return declared;
}

/** The path of arguments for the path of a parameter or a field: in camel case. */
export const argumentPath = (path: Path): Path =>
  path.map((step) =>
    typeof step === 'string'
      ? step.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
      : step,
  );

/** A name without regard to case and underscores, by which services may spell it in another way. */
export const plainName = (name: string) => name.replaceAll('_', '').toLowerCase();
