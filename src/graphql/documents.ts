import { hash } from 'node:crypto';
import { setImmediate as immediate } from 'node:timers/promises';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  Source,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { DocumentRequest, Turn } from '../document-request.ts';
import { ConfigError, GatewayError } from '../errors/gateway-error.ts';
import { createLineLimit } from '../telemetry/line-limit.ts';
import type { Plans } from './compiled-query.ts';
import { parseWithinLimits } from './document-limits.ts';
import { noIntrospection } from './schema.ts';
import { lacksTypename, nameOf } from './trusted-typenames.ts';

/** Memory for the documents that are remembered, in bytes. */
const CACHE_BYTES = 33_554_432;
/** What a token takes with its nodes, and as compiled code, in bytes. */
const TOKEN_BYTES = 500;
/** What a fault takes with its message and places, in bytes. */
const FAULT_BYTES = 2000;
/** The errors of an invalid document that are reported. The last one then says that there are more. */
const MAX_ERRORS = 10;
/** The places in the document that one error names. */
const MAX_LOCATIONS = 50;

/** The work to execute a document, and to check and execute a new one: bytes to parse for each character of its text. */
const EXECUTION_WORK = 60;
const CHECK_WORK = 200;

/** For each place that an error names, graphql-js counts the lines before it. Here is only one. */
const oneLine = new Source('');

const noDefinitions: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };

/** A fault of an invalid document, with the places that it names. */
type DocumentFault = { code: string; message: string; positions: readonly number[] | undefined };

/** A document that is within the limits: everything that is known about its text. */
export class GraphqlDocument {
  readonly text: string;
  /** Empty if the document is invalid. */
  ast = noDefinitions;
  /** What is wrong with an invalid document. */
  faults: readonly DocumentFault[] = [];
  /** Whether a double has the value of each number in the document. Undefined before it is executed. */
  isExact: boolean | undefined;
  /** The names of the variables in `@include` and `@skip`. Undefined before a query is executed. */
  conditions: string[] | undefined;
  /** How its queries are executed. */
  readonly plans: Plans = new Map();
  /** Where its lines start. Undefined before an error names a place. */
  lineStarts: number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Errors for the faults: new ones, because an error keeps what its stack refers to. */
  get errors(): GraphQLError[] {
    return this.faults.map(({ code, message, positions }) => {
      const places = positions && { source: oneLine, positions };
      const extensions = { code, http: { status: 400 } };
      return new GraphQLError(message, { ...places, extensions });
    });
  }
}

/** Documents by their ids. */
export type Manifest = ReadonlyMap<string, string>;

type DocumentOptions = {
  schema: GraphQLSchema;
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
  /** The trusted documents by their texts, and by their ids and the hashes of their texts. */
  #trusted: Map<string, GraphqlDocument> | undefined;
  #trustedById = new Map<string, GraphqlDocument>();
  readonly #mayLog = createLineLimit();

  constructor(options: DocumentOptions) {
    this.#options = options;
  }

  /**
   * Trusts these documents, and no others, from now on. Resolves to the names of those in which a `__typename` is
   * missing. Each is checked and passed to `compile` in its own iteration of the event loop, because requests may be
   * served meanwhile. Throws a ConfigError that names every document that is invalid, exceeds a limit, or has the id
   * of another one, and then changes nothing.
   */
  async trust(
    manifests: readonly Manifest[],
    compile: (document: GraphqlDocument) => Promise<void>,
  ): Promise<string[]> {
    const withoutTypename: string[] = [];
    const trusted = new Map<string, GraphqlDocument>();
    const byId = new Map<string, GraphqlDocument>();
    const problems: string[] = [];
    for (const [id, text] of manifests.flatMap((manifest) => [...manifest])) {
      try {
        await immediate();
        // Several ids may name one text.
        const document = trusted.get(text) ?? this.#parse(text);
        const [fault] = document.faults;
        if (fault) problems.push(`${id}: ${fault.message}`);
        else await compile(document);
        const { ast } = document;
        if (lacksTypename(this.#options.schema, ast)) withoutTypename.push(nameOf(ast) ?? id);
        if ((byId.get(id) ?? document) !== document) problems.push(`${id}: names two documents`);
        trusted.set(text, document);
        byId.set(id, document).set(hash('sha256', text, 'hex'), document);
      } catch (error) {
        problems.push(`${id}: ${error instanceof Error ? error.message : 'invalid'}`);
      }
    }
    if (problems.length > 0) {
      throw new ConfigError(['TRUSTED_DOCUMENTS has invalid documents:', ...problems].join('\n  '));
    }
    this.#trusted = trusted;
    this.#trustedById = byId;
    return withoutTypename;
  }

  /**
   * The document that a request names, after `turn`. Undefined if it names none. Rejects with a GatewayError:
   * `OPERATION_LIMIT_EXCEEDED`, or, with trusted documents, `PERSISTED_QUERY_NOT_IN_LIST` for an unknown id and
   * `QUERY_NOT_IN_SAFELIST` for another text, unless others are executed.
   */
  async find(request: DocumentRequest, turn: Turn): Promise<GraphqlDocument | undefined> {
    const { query = '' } = request;
    const trusted = this.#trusted && this.#findAllowed(request, this.#trusted);
    const known = trusted ?? this.#recent.get(query);
    const isNew = known === undefined && query !== '';
    await turn(known ? known.text.length * EXECUTION_WORK : query.length * CHECK_WORK);
    return isNew ? this.#remembered(query) : known;
  }

  #findAllowed(
    { query, documentId, sha256Hash }: DocumentRequest,
    trusted: ReadonlyMap<string, GraphqlDocument>,
  ): GraphqlDocument | undefined {
    if (this.#options.areOthersExecuted && query !== undefined) return trusted.get(query);
    const byId = this.#findTrusted(documentId);
    const byHash = this.#findTrusted(sha256Hash);
    const byText = query === undefined ? undefined : trusted.get(query);
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

  #findTrusted(id: string | undefined): GraphqlDocument | undefined {
    if (id === undefined) return undefined;
    const document = this.#trustedById.get(id);
    if (!document) throw notInList('No trusted document has the id of this request.');
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
    const { schema, introspection, maxWritesPerOperation } = this.#options;
    const document = new GraphqlDocument(text);
    const source = new Source(text);
    try {
      const ast = parseWithinLimits(source, maxWritesPerOperation);
      source.body = oneLine.body;
      const rules = introspection ? specifiedRules : [...specifiedRules, noIntrospection];
      const options = { maxErrors: MAX_ERRORS - 1, hideSuggestions: !introspection };
      const errors = validate(schema, ast, rules, options);
      document.faults = errors.map((error) => faultOf('GRAPHQL_VALIDATION_FAILED', error));
      if (errors.length === 0) document.ast = ast;
    } catch (error) {
      if (error instanceof GatewayError || !(error instanceof GraphQLError)) throw error;
      document.faults = [faultOf('GRAPHQL_PARSE_FAILED', error)];
    }
    return document;
  }
}

function notInList(message: string): GatewayError {
  return new GatewayError('PERSISTED_QUERY_NOT_IN_LIST', message);
}

function faultOf(code: string, { message, positions }: GraphQLError): DocumentFault {
  return { code, message, positions: positions?.slice(0, MAX_LOCATIONS) };
}
