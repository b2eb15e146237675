import {
  type GraphQLArgument,
  type GraphQLDirective,
  GraphQLID,
  type GraphQLInputField,
  type GraphQLInputType,
  GraphQLString,
  getDirectiveValues,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { core, type z } from 'zod';
import { addFault, faultsError, type InputFault, type Path } from '../errors/input-fault.ts';
import type { Context } from './request-context.ts';

/** Returns the type of the arguments of a field, with these settings. */
export type ArgumentCheck = (settings: Settings) => z.ZodType;
type Settings = Pick<Context, 'csvOptionParam'>;
/** Returns the problem of a value, and reports the problems of its fields and items. */
type Check = (value: unknown, path: Path, report: Report) => string | undefined;
type Report = (path: Path, problem: string) => void;
/** The arguments of `@limit`. */
type Limit = { characters?: number; items?: number };

/**
 * Creates a check of the arguments of a root field from their types. `@limit` says how many UTF-16 code units a text may
 * have (1,000 without it), and how many items a list. An ID is an integer of at most 1,000 digits. A text has no lone
 * surrogates: UTF-8 cannot contain them, so each would become another character. `further` checks what the types cannot
 * express. The check throws `BAD_USER_INPUT` with all faults.
 */
export function argumentCheckOf(
  args: readonly GraphQLArgument[],
  limit: GraphQLDirective,
  further?: ArgumentCheck,
): (values: object, settings: Settings) => void {
  const check = fieldsCheckOf(args, limit);
  if (!check && !further) return () => {};
  return (values, settings) => {
    const faults: InputFault[] = [];
    const report: Report = (path, problem) =>
      addFault(faults, { path, message: `"${core.toDotPath(path)}" ${problem}.` });
    check?.(values, [], report);
    for (const { path, message } of further?.(settings).safeParse(values).error?.issues ?? []) {
      report(path, message);
    }
    if (faults.length > 0) throw faultsError(faults);
  };
}

/** Creates a check of arguments, or of the fields of an input object. Undefined if none of them is limited. */
function fieldsCheckOf(
  fields: readonly (GraphQLArgument | GraphQLInputField)[],
  limit: GraphQLDirective,
): Check | undefined {
  const checks = fields.flatMap(({ name, type, astNode }) => {
    const said: Limit = Object(astNode && getDirectiveValues(limit, astNode));
    const check = checkOf(type, said, limit);
    return check ? [{ name, check }] : [];
  });
  if (checks.length === 0) return undefined;
  return (value, path, report) => {
    for (const { name, check } of checks) {
      const inner: unknown = Reflect.get(Object(value), name);
      const problem = inner == null ? undefined : check(inner, [...path, name], report);
      if (problem !== undefined) report([...path, name], problem);
    }
    return undefined;
  };
}

function checkOf(type: GraphQLInputType, said: Limit, limit: GraphQLDirective): Check | undefined {
  const inner = getNullableType(type);
  if (isListType(inner)) return listCheckOf(checkOf(inner.ofType, said, limit), said);
  if (isInputObjectType(inner)) return fieldsCheckOf(Object.values(inner.getFields()), limit);
  if (inner === GraphQLID) return integerProblem;
  if (inner !== GraphQLString) return undefined;
  const { characters = 1000 } = said;
  const problem = `has more than ${characters} characters`;
  return (value) => {
    const text = String(value);
    if (text.length > characters) return problem;
    return text.isWellFormed() ? undefined : 'is not well-formed Unicode text';
  };
}

function listCheckOf(check: Check | undefined, { items = Infinity }: Limit): Check | undefined {
  if (!check && items === Infinity) return undefined;
  return (value, path, report) => {
    const values: readonly unknown[] = [value].flat();
    if (values.length > items) return `has more than ${items} items`;
    for (const [index, item] of values.entries()) {
      const problem = item == null ? undefined : check?.(item, [...path, index], report);
      if (problem === undefined) continue;
      report([...path, index], problem);
      break; // Reports only the first fault of a list of texts, because an operation may have two hundred of such lists.
    }
    return undefined;
  };
}

/** An integer in the syntax of JSON: no plus sign, no leading zero. */
const integer = /^(0|-?[1-9]\d*)$/;

function integerProblem(value: unknown): string | undefined {
  const id = String(value);
  if (!integer.test(id)) return 'is not an integer';
  return /^-?\d{1001,}$/.test(id) ? 'has more than 1000 digits' : undefined;
}
