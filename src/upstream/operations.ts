import type { Static, TSchema } from 'typebox';
import type { Path } from '../errors/input-fault.ts';
import { type Identifiers, identifiersIn, type SentFile } from './identifiers.ts';
import type { ServiceResponse } from './responses.ts';
import { guardOf, toWire, type WireType } from './wire-types.ts';

/** What is declared of every operation of the service. */
type Row<Result, P = TSchema, B = TSchema | null> = {
  /** Its path below the base URL, and its name in the log, metrics, policies and recorded outcomes. It never changes. */
  readonly name: string;
  /** The section of docs/reference/service-api.md. */
  readonly section: string;
  readonly method: 'GET' | 'POST';
  /** The parameters of the query, in the order in which they are sent. */
  readonly parameters: P;
  /** The record that is sent, or null. */
  readonly body: B;
  readonly response: ServiceResponse<Result>;
  /**
   * The argument of the root field for a path of the parameters or the body, by which the service may reject the request. By
   * default, an argument has the name of its parameter in camel case.
   */
  readonly argumentOf?: (path: Path) => Path;
  /** The file in the body, for the audit record. */
  file?(body: B extends TSchema ? Static<B> : never): SentFile;
  /** A response as JSON, for the description and the reference service. */
  readonly sample: string;
  /** The root field of the schema. */
  readonly field: string;
  /** The value of the field's enum argument that stands for the operation, if there is one. */
  readonly action?: string;
};
type Read = { readonly effect: 'read' };
type Write<Result, Member> = {
  /** The operation may change state, whatever its method is. Retries, connections and decoding follow from this. */
  readonly effect: 'write';
  /** The union member for a response, also for one that was recorded for an idempotency key. */
  member(response: Result): Member; // A method, so that a list may hold operations of several results.
};
/** The root field with its type, such as `Query.glCodes`: the label of metrics. */
type Labelled = { readonly graphql: string };

/** A member of a union of the schema. */
export type AnyMember = {
  readonly __typename: string;
  readonly invoiceId?: string | null;
  readonly code?: string;
};
export type ReadOperation<Result = unknown> = Row<Result> & Read & Labelled;
export type WriteOperation<Result = unknown, Member extends AnyMember = AnyMember> = Row<Result> &
  Write<Result, Member> &
  Labelled;
/** An operation: its declaration, and the functions that follow from it. A request carries its operation. */
export type Operation = ReadOperation | WriteOperation;

/** A request of an operation, as `encode` returns it. */
export type Encoded<Of extends Operation> = {
  readonly operation: Of;
  /** The query string, including the question mark. Empty if there is none. */
  readonly search: string;
  /** JSON text. */
  readonly body: string | undefined;
  /** The identifiers in the request, with so many characters at most. The log shows nothing else of it. */
  identifiers(maxCharacters: number): Identifiers;
  /** The file in the request, for the audit record. */
  file(): SentFile | undefined;
};
export type ReadRequest<Result = unknown> = Encoded<ReadOperation<Result>>;
/** A write, with what belongs to its root field. */
export type WriteRequest<Result = unknown, Member extends AnyMember = AnyMember> = Encoded<
  WriteOperation<Result, Member>
> & {
  /** The response name of the mutation field, which is part of the claim on an idempotency key. */
  readonly responseName: string;
  /** What has become of it so far. */
  readonly trail?: WriteTrail;
  /** Its deadline in the time of `performance.now()`, which is earlier than its timeout if it waited for an earlier request. */
  readonly deadline?: number;
};
export type UpstreamRequest<Result = unknown> = ReadRequest<Result> | WriteRequest<Result>;

/** What has become of a write so far, for the log and the audit record. It is noted while the write is executed. */
export type WriteTrail = {
  /** The id of its claim on an idempotency key. */
  claim?: string;
  /** Whether its outcome is that of an earlier request with the same key. */
  isReplay?: boolean;
  /** Called when it is about to be sent. Lines that it writes are out at the end of this iteration of the event loop. */
  onSend?(): void;
};

type Encoder<Of extends Operation, P extends TSchema, B extends TSchema | null> = {
  /** Encodes a request. Throws a TypeError if its parameters or its body are not as declared. */
  encode(parameters: Static<P>, ...body: B extends TSchema ? [body: Static<B>] : []): Encoded<Of>;
};

/** Defines an operation by its row. */
export function defineOperation<P extends TSchema, B extends TSchema | null, Result>(
  row: Row<Result, P, B> & Read,
): ReadOperation<Result> & Encoder<ReadOperation<Result>, P, B>;
export function defineOperation<
  P extends TSchema,
  B extends TSchema | null,
  Result,
  Member extends AnyMember,
>(
  row: Row<Result, P, B> & Write<Result, Member>,
): WriteOperation<Result, Member> & Encoder<WriteOperation<Result, Member>, P, B>;
export function defineOperation(row: Row<unknown> & Pick<Operation, 'effect'>): object {
  const { parameters, body, effect, field } = row;
  const areParameters = guardOf<WireType>({ additionalProperties: false, ...parameters });
  const isBody = body && guardOf(body);
  const types = body ? [parameters, body] : [parameters];
  const operation = {
    ...row,
    graphql: `${effect === 'read' ? 'Query' : 'Mutation'}.${field}`,
    encode: (given: object, value?: unknown) => {
      const values = Object.fromEntries(Object.entries(given).filter(([, one]) => one != null));
      if (!areParameters(values) || isBody?.(value) === false) {
        throw new TypeError(`A request of ${row.name} does not match its declaration.`);
      }
      return {
        operation,
        search: searchOf(parameters, values),
        body: body ? JSON.stringify(toWire(body, value)) : undefined,
        identifiers: (maxCharacters: number) =>
          identifiersIn(types, [values, value], maxCharacters),
        file: () => row.file?.(value),
      };
    },
  };
  return operation;
}

/** The query with these values, in the order of their declaration. */
function searchOf({ properties }: WireType, values: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const name of Object.keys(properties ?? values)) {
    if (values[name] !== undefined) search.append(name, String(values[name]));
  }
  return search.size > 0 ? `?${search}` : '';
}
