import { hash } from 'node:crypto';
import type { DocumentStore } from '@apollo/server';
import {
  type DocumentNode,
  type FloatValueNode,
  GraphQLError,
  type GraphQLFormattedError,
  GraphQLID,
  type GraphQLSchema,
  getLocation,
  getNamedType,
  getOperationAST,
  type IntValueNode,
  Source,
  specifiedRules,
  type ValidationRule,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { GatewayError } from '../errors/gateway-error.ts';
import { isExact } from '../lib/json.ts';
import { createLineLimit } from '../telemetry/line-limit.ts';
import { GraphqlDocument } from './document.ts';
import { parseWithinLimits } from './document-limits.ts';
import { type Manifest, readTrusted, type TrustedDocuments } from './trusted-documents.ts';

export type DocumentOptions = {
  schema: GraphQLSchema;
  introspection: boolean;
  maxWritesPerOperation: number;
  /** Whether documents that are not trusted are executed too, and named in the log. */
  areOthersExecuted: boolean;
  log: Logger;
};

/** The name of a document by its text: SHA-256 in hexadecimal digits, as clients and Apollo Server compute it. */
export function hashOf(text: string): string {
  return hash('sha256', text, 'hex');
}

/** How a request names its document. */
type DocumentRequest = {
  query?: string | undefined;
  /** The document id, and the hash of the extension `persistedQuery`, if they are given. */
  ids?: (string | null | undefined)[];
};

/** The documents of requests, each parsed and checked once while it is remembered. Apollo Server uses this as its store of documents. */
export class Documents implements DocumentStore {
  readonly #options: DocumentOptions;
  /** By the hashes of their texts. */
  readonly #recent = new LRUCache<string, GraphqlDocument, string>({
    maxSize: 67_108_864, // Bytes.
    sizeCalculation: ({ text, ast, faults }) =>
      // About what a token takes with its nodes and a few plans, and what a fault takes with its message and places.
      2 * text.length + (ast.tokenCount ?? 1) * 3000 + faults.length * 2000,
    memoMethod: (textHash, _stale, { context: text }) => this.#read(text, textHash),
  });
  #trusted: TrustedDocuments | undefined;
  readonly #mayLog = createLineLimit();

  constructor(options: DocumentOptions) {
    this.#options = options;
  }

  /** Trusts these documents, and no others, from now on. Rejects as `readTrusted` does, and then changes nothing. */
  async trust(manifests: readonly Manifest[]): Promise<void> {
    const { log } = this.#options;
    const parse = (text: string) => this.#parse(text, hashOf(text));
    this.#trusted = await readTrusted(manifests, parse, log);
  }

  /**
   * The document that a request names. Undefined if it names none. Throws a GatewayError:
   * `OPERATION_LIMIT_EXCEEDED`, or, with trusted documents, `PERSISTED_QUERY_NOT_IN_LIST` for an unknown id and
   * `QUERY_NOT_IN_SAFELIST` for another text, unless others are executed.
   */
  find(request: DocumentRequest): GraphqlDocument | undefined {
    const { query = '' } = request;
    const textHash = query === '' ? undefined : hashOf(query);
    const trusted = this.#trusted && this.#findAllowed(request, textHash, this.#trusted);
    if (trusted || textHash === undefined) return trusted;
    return this.#recent.memo(textHash, { context: query });
  }

  /** The parsed form of a document that `find` has returned. The key ends with the hash of its text. */
  async get(key: string): Promise<DocumentNode | undefined> {
    const textHash = key.slice(-64);
    const document = this.#trusted?.byHash.get(textHash) ?? this.#recent.get(textHash);
    return document?.ast;
  }

  /** Stores nothing, because only `find` parses within the limits. */
  async set(): Promise<void> {}

  /** Deletes nothing. */
  async delete(): Promise<void> {}

  #findAllowed(
    { query, ids = [] }: DocumentRequest,
    textHash: string | undefined,
    { byHash, byId }: TrustedDocuments,
  ): GraphqlDocument | undefined {
    const document = textHash === undefined ? undefined : byHash.get(textHash);
    if (query !== undefined && this.#options.areOthersExecuted) return document;
    const named = ids.filter((id) => id != null).map((id) => byId.get(id));
    if (named.includes(undefined))
      throw notInList('No trusted document has the id of this request.');
    const [first = document] = named;
    if (query !== undefined && (!document || document !== first)) {
      const message = 'The document is not in the list of trusted documents.';
      throw new GatewayError('QUERY_NOT_IN_SAFELIST', message);
    }
    if (named.some((other) => other !== first)) throw notInList('The ids of this request differ.');
    return first;
  }

  /** Parses a document that is not trusted. */
  #read(text: string, textHash: string): GraphqlDocument {
    const document = this.#parse(text, textHash);
    if (this.#trusted && this.#mayLog()) {
      const name = getOperationAST(document.ast)?.name?.value;
      this.#options.log.warn({ name, sha256: textHash }, 'document is not trusted');
    }
    return document;
  }

  #parse(text: string, textHash: string): GraphqlDocument {
    const { schema, introspection, maxWritesPerOperation } = this.#options;
    const document = new GraphqlDocument(text, textHash, schema);
    const source = new Source(text);
    try {
      const ast = parseWithinLimits(source, schema, maxWritesPerOperation);
      source.body = ''; // Otherwise the line and column would be computed of thousands of places that an error may name.
      const rules = introspection ? baseRules : [...baseRules, noIntrospection];
      // If there are more, a tenth error says so.
      const options = { maxErrors: 10 - 1, hideSuggestions: !introspection };
      const errors = validate(schema, ast, rules, options);
      source.body = text;
      document.faults = errors.map((error) => toFault('GRAPHQL_VALIDATION_FAILED', error));
      if (errors.length === 0) document.ast = ast;
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      document.faults = [toFault('GRAPHQL_PARSE_FAILED', error)];
    }
    return document;
  }
}

/**
 * Rejects numbers that a double cannot represent exactly. graphql-js would send 1e400 as null, and 9007199254740993 as another
 * number.
 */
const exactNumbers: ValidationRule = (context) => {
  const check = (node: IntValueNode | FloatValueNode) => {
    // An ID is a text, so its digits are kept.
    if (getNamedType(context.getInputType()) === GraphQLID || isExact(node.value)) return;
    const message = 'A number in the document cannot be sent exactly.';
    context.reportError(new GraphQLError(message, { nodes: node }));
  };
  return { IntValue: check, FloatValue: check };
};

const baseRules = [...specifiedRules, exactNumbers];

/** Rejects fields that reveal the schema: introspection, and `_service { sdl }` (docs/decisions/0008). */
const noIntrospection: ValidationRule = (context) => ({
  Field(node) {
    if (['__schema', '__type', '_service'].includes(node.name.value)) {
      context.reportError(new GraphQLError('Introspection is off.', { nodes: node }));
    }
  },
});

function notInList(message: string): GatewayError {
  return new GatewayError('PERSISTED_QUERY_NOT_IN_LIST', message);
}

function toFault(
  code: string,
  { message, positions, source }: GraphQLError,
): GraphQLFormattedError {
  // At most 50 places, because all lines before each of them are counted.
  const places = positions?.slice(0, 50) ?? [];
  const locations = source && places.map((position) => getLocation(source, position));
  return { message, ...(locations && { locations }), extensions: { code } };
}
