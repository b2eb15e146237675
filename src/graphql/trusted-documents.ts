import { hash } from 'node:crypto';
import {
  type DocumentNode,
  type GraphQLSchema,
  parse,
  specifiedRules,
  type ValidationRule,
  validate,
} from 'graphql';
import { ConfigError, GatewayError } from '../errors/gateway-error.ts';

/** The parts of a GraphQL request that name a document. */
export type DocumentRequest = {
  query?: string | undefined;
  /** The `documentId` of a request, or the `sha256Hash` of its `persistedQuery` extension. */
  id?: string | undefined;
};

/**
 * The only documents that the gateway executes, by their ids. They are parsed and validated once; anything
 * else is rejected before it is parsed.
 */
export class TrustedDocuments {
  readonly #textById = new Map<string, string>();
  readonly #texts = new Set<string>();
  readonly #documentByHash = new Map<string, DocumentNode>();

  /**
   * Throws a ConfigError that names every document that is invalid or exceeds a limit; `check` throws for
   * one that does.
   */
  constructor(
    manifest: ReadonlyMap<string, string>,
    schema: GraphQLSchema,
    rules: readonly ValidationRule[],
    check: (document: string) => void,
  ) {
    const problems: string[] = [];
    for (const [id, text] of manifest) {
      try {
        check(text);
        const document = parse(text);
        const [error] = validate(schema, document, [...specifiedRules, ...rules]);
        if (error) throw error;
        const digest = sha256(text);
        this.#textById.set(id, text).set(digest, text);
        this.#texts.add(text);
        this.#documentByHash.set(digest, document);
      } catch (error) {
        problems.push(`${id}: ${error instanceof Error ? error.message : 'invalid'}`);
      }
    }
    if (problems.length > 0) {
      throw new ConfigError(['TRUSTED_DOCUMENTS has invalid documents:', ...problems].join('\n  '));
    }
  }

  get documents(): DocumentNode[] {
    return [...this.#documentByHash.values()];
  }

  /**
   * The text of the document that a request names. Undefined if it names none. Throws a GatewayError:
   * `PERSISTED_QUERY_NOT_IN_LIST` for an unknown id, `QUERY_NOT_IN_SAFELIST` for another text.
   */
  resolve({ query, id }: DocumentRequest): string | undefined {
    const text = id === undefined ? query : this.#textById.get(id);
    if (id !== undefined && text === undefined) {
      throw new GatewayError(
        'PERSISTED_QUERY_NOT_IN_LIST',
        'No trusted document has the id of this request.',
      );
    }
    if (query !== undefined && (query !== text || !this.#texts.has(query))) {
      throw new GatewayError(
        'QUERY_NOT_IN_SAFELIST',
        'Only trusted documents are executed, and this is none of them.',
      );
    }
    return text;
  }

  /** Apollo's cache of parsed and validated documents. Its keys end with a hash of the text. */
  async get(key: string): Promise<DocumentNode | undefined> {
    return this.#documentByHash.get(key.slice(key.lastIndexOf(':') + 1));
  }

  async set(): Promise<void> {}

  async delete(): Promise<boolean> {
    return false;
  }
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
