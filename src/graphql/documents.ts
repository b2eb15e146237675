import { hash } from 'node:crypto';
import { GraphQLError, Source, specifiedRules, type ValidationRule, validate } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { GatewayError } from '../errors/gateway-error.ts';
import { createLineLimit } from '../telemetry/line-limit.ts';
import { type DocumentFault, GraphqlDocument, introspectionFields, oneLine } from './document.ts';
import { parseWithinLimits } from './document-limits.ts';
import type { DocumentRequest } from './document-request.ts';
import { schema } from './schema.ts';
import { type Manifest, nameOf, readTrusted, type TrustedDocuments } from './trusted-documents.ts';

/** Memory for the documents that are remembered, in bytes. */
const CACHE_BYTES = 67_108_864;
/** What a token takes with its nodes, and in the compiled code of a few plans, in bytes. */
const TOKEN_BYTES = 3000;
/** What a fault takes with its message and places, in bytes. */
const FAULT_BYTES = 2000;
/** The errors of an invalid document that are reported. The last one then says that there are more. */
const MAX_ERRORS = 10;
/** The places in the document that one error names. */
const MAX_LOCATIONS = 50;

export type DocumentOptions = {
  introspection: boolean;
  maxWritesPerOperation: number;
  /** Whether documents that are not trusted are executed too, and named in the log. */
  areOthersExecuted: boolean;
  log: Logger;
};

/** The documents of requests. Each is parsed and checked once, as long as it is remembered. */
export class Documents {
  readonly #options: DocumentOptions;
  readonly #recent = new LRUCache<string, GraphqlDocument>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ ast, faults }, text) =>
      2 * text.length + (ast.tokenCount ?? 1) * TOKEN_BYTES + faults.length * FAULT_BYTES,
  });
  #trusted: TrustedDocuments | undefined;
  readonly #mayLog = createLineLimit();

  constructor(options: DocumentOptions) {
    this.#options = options;
  }

  /** Trusts these documents, and no others, from now on. Rejects as `readTrusted` does, and then changes nothing. */
  async trust(manifests: readonly Manifest[]): Promise<void> {
    this.#trusted = await readTrusted(manifests, (text) => this.#parse(text));
    const { withoutTypename: documents } = this.#trusted;
    if (documents.length === 0) return;
    const message = 'trusted documents select a union or interface without __typename';
    this.#options.log.warn({ documents }, message);
  }

  /**
   * The document that a request names. Undefined if it names none. Throws a GatewayError:
   * `OPERATION_LIMIT_EXCEEDED`, or, with trusted documents, `PERSISTED_QUERY_NOT_IN_LIST` for an unknown id and
   * `QUERY_NOT_IN_SAFELIST` for another text, unless others are executed.
   */
  find(request: DocumentRequest): GraphqlDocument | undefined {
    const { query = '' } = request;
    const trusted = this.#trusted && this.#findAllowed(request, this.#trusted);
    return trusted ?? (query === '' ? undefined : this.#remembered(query));
  }

  #findAllowed(
    { query, documentId, sha256Hash }: DocumentRequest,
    trusted: TrustedDocuments,
  ): GraphqlDocument | undefined {
    if (this.#options.areOthersExecuted && query !== undefined) return trusted.byText.get(query);
    const byId = findTrusted(documentId, trusted);
    const byHash = findTrusted(sha256Hash, trusted);
    const byText = query === undefined ? undefined : trusted.byText.get(query);
    const document = byId ?? byHash ?? byText;
    if (query !== undefined && (!byText || byText !== document)) {
      throw new GatewayError(
        'QUERY_NOT_IN_SAFELIST',
        'The document is not in the list of trusted documents.',
      );
    }
    if (byHash && byHash !== document) throw notInList('The ids of this request differ.');
    return document;
  }

  #remembered(text: string): GraphqlDocument {
    const known = this.#recent.get(text);
    if (known) return known;
    const document = this.#parse(text);
    this.#recent.set(text, document);
    if (this.#trusted && this.#mayLog()) {
      const named = { name: nameOf(document.ast), sha256: hash('sha256', text, 'hex') };
      this.#options.log.warn(named, 'document is not trusted');
    }
    return document;
  }

  #parse(text: string): GraphqlDocument {
    const { introspection, maxWritesPerOperation } = this.#options;
    const document = new GraphqlDocument(text);
    const source = new Source(text);
    try {
      const ast = parseWithinLimits(source, maxWritesPerOperation);
      source.body = oneLine.body;
      const rules = introspection ? specifiedRules : [...specifiedRules, noIntrospection];
      const options = { maxErrors: MAX_ERRORS - 1, hideSuggestions: !introspection };
      const errors = validate(schema, ast, rules, options);
      document.faults = errors.map((error) => toFault('GRAPHQL_VALIDATION_FAILED', error));
      if (errors.length === 0) document.ast = ast;
    } catch (error) {
      if (error instanceof GatewayError || !(error instanceof GraphQLError)) throw error;
      document.faults = [toFault('GRAPHQL_PARSE_FAILED', error)];
    }
    return document;
  }
}

/** Rejects introspection, and `_service { sdl }`, which reveals the same (docs/decisions/0008). */
const noIntrospection: ValidationRule = (context) => ({
  Field(node) {
    if (introspectionFields.includes(node.name.value)) {
      context.reportError(new GraphQLError('Introspection is off.', { nodes: node }));
    }
  },
});

function findTrusted(id: string | undefined, { byId }: TrustedDocuments) {
  if (id === undefined) return undefined;
  const document = byId.get(id);
  if (!document) throw notInList('No trusted document has the id of this request.');
  return document;
}

function notInList(message: string): GatewayError {
  return new GatewayError('PERSISTED_QUERY_NOT_IN_LIST', message);
}

function toFault(code: string, { message, positions }: GraphQLError): DocumentFault {
  return { code, message, positions: positions?.slice(0, MAX_LOCATIONS) };
}
