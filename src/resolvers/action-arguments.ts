import { z } from 'zod';
import { WorkflowAction } from '../generated/resolvers.ts';
import { camelCase } from '../lib/camel-case.ts';
import { operations, perOperation, type WorkflowOperation } from '../upstream/operations.ts';
import { guardOf, type WireType } from '../upstream/wire-types.ts';
import { wellFormed } from './well-formed.ts';

/*
 * The arguments of `workflowAction` beside `action`. They follow from the declarations: the parameter `due_date` of an action is
 * the argument `dueDate`. The schema cannot say which action has or requires an argument.
 */

type Parameter = {
  name: string;
  isRequired: boolean;
  isDecimal: boolean;
  isValid: (value: unknown) => boolean;
};

/** The parameters of an operation, by the names of their arguments. */
const parametersOf = perOperation((operation) => {
  const { properties = {}, required = [] }: WireType = operations[operation].parameters;
  return new Map(
    Object.entries(properties).map(([name, type]): [string, Parameter] => {
      const isRequired = required.includes(name);
      const isDecimal = type.exact === 'number';
      return [camelCase(name), { name, isRequired, isDecimal, isValid: guardOf(type) }];
    }),
  );
});

/** The parameters of an action, from the arguments of `workflowAction`. */
export function toParameters(action: WorkflowOperation, args: Readonly<Record<string, unknown>>) {
  const pairs = [...parametersOf[action]].map(
    ([argument, { name }]) => [name, args[argument]] as const,
  );
  return Object.fromEntries(pairs);
}

/** Checks that an action has all arguments that it requires, and only its own. */
export const workflowActionArgs = z
  .looseObject({ action: z.enum(WorkflowAction) })
  .superRefine(({ action, ...args }, context) => {
    const parameters = parametersOf[action];
    for (const name of new Set([...parameters.keys(), ...Object.keys(args)])) {
      const message = problemOf(args[name], parameters.get(name));
      if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message });
    }
  });

function problemOf(value: unknown, parameter: Parameter | undefined): string | undefined {
  if (value == null) return parameter?.isRequired ? 'is required for this action' : undefined;
  if (!parameter) return 'is not an argument of this action';
  const { error } = wellFormed.safeParse(`${value}`);
  if (error) return error.issues[0]?.message;
  if (Array.isArray(value) && value.length === 0) return 'is an empty list, which cannot be sent';
  if (parameter.isValid(value)) return undefined;
  return parameter.isDecimal
    ? 'is not a decimal number, such as 10.50'
    : 'is not a value that the service knows';
}
