import { z } from 'zod';
import { parseStrictJson } from '../lib/strict-json.ts';
import type { Operation } from '../upstream/operations.ts';

/** What the policy says of one operation, after precedence. */
export type Rule = {
  /** The token needs one of the values of each of these claims. */
  readonly claims: Readonly<Record<string, readonly string[]>>;
  /** Why the operation is stopped. Null if it is not. */
  readonly stopped: string | null;
  /** The writes of one caller in a minute, which are counted together with the others of the rule with this name. */
  readonly limit: { readonly name: string; readonly writesPerMinute: number } | null;
};

/** The content of a policy file. */
export type PolicyTable = {
  readonly rules: ReadonlyMap<Operation, Rule>;
  /** For each rule, and for each of its keys, the operations for which it counts. */
  readonly covers: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
};

/** The rule of all writes. */
const WRITES = 'writes';

const notEmpty = 'must not be empty';
const text = z.string().regex(/\S/, notEmpty);
const claims = z
  .record(text, z.array(text).min(1, notEmpty))
  .refine((value) => Object.keys(value).length > 0, notEmpty)
  .meta({ minProperties: 1 })
  .nullable()
  .optional()
  .meta({
    id: 'claims',
    description: 'The token needs one of the values in each of these claims. Null: it needs none',
  });
const forWrites = z.never('is for writes only').optional();
const writeRule = z
  .strictObject({
    claims,
    stopped: text
      .max(1000)
      .nullable()
      .optional()
      .describe('The reason, for users, for which nothing is sent. Null: it is not stopped'),
    writesPerMinute: z
      .int()
      .min(1)
      .max(1_000_000)
      .nullable()
      .optional()
      .describe('How many writes one caller may send in a minute. Null: there is no limit'),
  })
  .meta({ id: 'writeRule' });
const readRule = z
  .strictObject({ claims, stopped: forWrites, writesPerMinute: forWrites })
  .meta({ id: 'readRule' });

/** The names of the rules that an operation may have, the most specific one first. */
function namesOf({ field, action, effect }: Operation): readonly [string, ...string[]] {
  const general = effect === 'write' ? [WRITES] : [];
  return action === undefined ? [field, ...general] : [`${field}.${action}`, field, ...general];
}

/** The type of a policy for these operations. */
function policyOf(operations: readonly Operation[]) {
  const ruleTypes = operations.flatMap((operation) => {
    const type = (operation.effect === 'write' ? writeRule : readRule).optional();
    return namesOf(operation).map((name) => [name, type] as const);
  });
  const types = new Map(ruleTypes);
  types.delete(WRITES);
  return z.strictObject({
    operations: z.strictObject(Object.fromEntries(types)).default({}),
    [WRITES]: writeRule.default({}),
  });
}

/** The JSON Schema of a policy file, for editors and for checks of others. */
export function policyFileSchema(operations: readonly Operation[]): object {
  return z.toJSONSchema(policyOf(operations), { io: 'input' });
}

/** Reads the text of a policy file for these operations. Throws a TextFault if it has faults. */
export function readPolicy(json: string, operations: readonly Operation[]): PolicyTable {
  const type = policyOf(operations);
  const shapes = [type.shape, type.shape.operations.unwrap().shape, writeRule.shape];
  const data = parseStrictJson(json, 'a policy', type, shapes.flatMap(Object.keys));
  const given = new Map(Object.entries({ ...data.operations, [WRITES]: data.writes }));
  const covers: Record<string, Record<string, string[]>> = {};
  const ruleOf = (operation: Operation): Rule => {
    const names = namesOf(operation);
    /** The value of a key, and the name of the rule that has it. */
    const find = <Key extends keyof z.infer<typeof writeRule>>(key: Key, order = names) => {
      const name = order.find((each) => given.get(each)?.[key] !== undefined);
      if (name === undefined) return undefined;
      const { [key]: covered = [], ...others } = covers[name] ?? {};
      covers[name] = { ...others, [key]: [...covered, names[0]] };
      return { name, value: given.get(name)?.[key] };
    };
    // A stop of all writes has no exceptions.
    const isAllStopped = names.includes(WRITES) && data.writes.stopped != null;
    const limit = find('writesPerMinute');
    return {
      claims: find('claims')?.value ?? {},
      stopped: find('stopped', isAllStopped ? [WRITES] : names)?.value ?? null,
      limit: limit?.value == null ? null : { name: limit.name, writesPerMinute: limit.value },
    };
  };
  const rules = new Map(operations.map((operation) => [operation, ruleOf(operation)]));
  return { rules, covers };
}
