import type { Static, TSchema } from 'typebox';
import { type Declaration, declarations } from './declarations.ts';
import { parseBody } from './parse-body.ts';
import { type Targets, targetsReader } from './targets.ts';
import { encoderOf, guardOf, type WireType } from './wire-types.ts';

export type OperationName = keyof typeof declarations;
type Declared<Name extends OperationName> = (typeof declarations)[Name];
/** The names of the operations whose declarations have these values. */
type NamesWith<Row> = {
  [Name in OperationName]: Declared<Name> extends Row ? Name : never;
}[OperationName];

export type ReadName = NamesWith<{ effect: 'read' }>;
export type WriteName = NamesWith<{ effect: 'write' }>;
/** The operations that change a workflow, a solution or an account (docs/reference/service-api.md, section 4.4). */
export type WorkflowOperation = NamesWith<{ graphql: 'Mutation.workflowAction' }>;

/** The decoded response to each operation. */
export type Responses = {
  [Name in OperationName]: ReturnType<Declared<Name>['response']['decode']>;
};

/** The parameters and the body of an operation, with exact numbers as texts. */
export type Parameters<Name extends OperationName> = Static<Declared<Name>['parameters']>;
export type Body<Name extends OperationName> = Declared<Name>['body'] extends infer Type
  ? Type extends TSchema
    ? Static<Type>
    : undefined
  : never;

/** An operation: its declaration, and the functions that follow from it. */
export type Operation<Name extends OperationName = OperationName> = Declaration & {
  /** Encodes the parameters to a query, including the question mark. Throws a TypeError if they are not as declared. */
  toSearch(parameters: Parameters<Name> | undefined): string;
  /** Encodes the body to JSON. Throws a TypeError if it is not as declared. */
  toBody(body: Body<Name> | undefined): string | undefined;
  /** What a request names: the only values of it that the audit record shows. */
  targetsOf(parameters: Parameters<Name> | undefined, body: Body<Name> | undefined): Targets;
  /** Decodes the body of a response. Throws a ContractFault if it is not as declared. */
  decode(body: Uint8Array): Responses[Name];
  /** Whether a value is a response to a write that was recorded for an idempotency key. */
  isRecorded(value: unknown): value is Responses[Name];
};

/** The operations. Other code names one only to build its request or its union member. */
export const operations = Object.fromEntries(
  Object.entries<Declaration>(declarations).map(([name, declaration]) => [
    name,
    derive(declaration),
  ]),
) as unknown as { readonly [Name in OperationName]: Operation<Name> }; // Entries do not keep the types of their names.

function derive(declaration: Declaration) {
  const { parameters, body, response } = declaration;
  const encode = body && encoderOf(body);
  return {
    ...declaration,
    toSearch: searchEncoderOf(parameters),
    toBody: (value: unknown) => (encode ? encode(value) : undefined),
    targetsOf: targetsReader(parameters, ...(body ? [body] : [])),
    decode: (bytes: Uint8Array) => response.decode(parseBody(bytes), bytes.length),
    isRecorded: response.isRecorded,
  };
}

/** Creates a function that encodes a query as `URLSearchParams` does, in a fraction of the time. */
function searchEncoderOf(parameters: WireType): (values: unknown) => string {
  const isValid = guardOf(parameters);
  const declared = parameters.properties && Object.keys(parameters.properties);
  return (values = {}) => {
    const given = Object.entries(Object(values));
    // A parameter that is not declared would be left out silently.
    const isLeftOut = ([name, value]: [string, unknown]) =>
      value != null && declared?.includes(name) === false;
    if (!isValid(values) || given.some(isLeftOut)) {
      throw new TypeError('The parameters do not match their declaration.');
    }
    const pairs = (declared ?? Object.keys(Object(values))).flatMap((name) => {
      const value: unknown = Reflect.get(Object(values), name);
      return value == null ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(`${value}`)}`];
    });
    return pairs.length === 0 ? '' : `?${pairs.join('&').replaceAll('%20', '+')}`;
  };
}

/** Creates a value for each operation. */
export function perOperation<Value>(
  create: (name: OperationName) => Value,
): Record<OperationName, Value> {
  const names = Object.keys(operations) as OperationName[];
  return Object.fromEntries(names.map((name) => [name, create(name)])) as Record<
    OperationName,
    Value
  >;
}

/** A call of an operation. */
export type UpstreamRequest<Name extends OperationName = OperationName> = {
  readonly operation: Name;
  /** The query string, including the question mark. */
  readonly search?: string | undefined;
  /** JSON text. */
  readonly body?: string | undefined;
  /** Of a write. */
  readonly observer?: WriteObserver;
};

/** Called while a write is executed, for the audit record. */
export type WriteObserver = {
  /** The id of its claim on an idempotency key. */
  claimed(claimId: string): void;
  /** Its outcome is that of an earlier request with the same key. */
  replayed(): void;
  /** It is about to be sent. Resolves when this is recorded. */
  sending(): Promise<void>;
};

export type WriteRequest<Name extends WriteName = WriteName> = UpstreamRequest<Name> & {
  /** The response name of the mutation field, which is part of the claim on an idempotency key. */
  readonly responseName: string;
  /** What the request names, for the audit record. */
  readonly targets: () => Targets;
  /** The id of that claim, for the log. */
  readonly claimId?: string;
  /** The rest of the deadline, if the write waited for an earlier request, in milliseconds. */
  readonly timeoutMs?: number;
};
