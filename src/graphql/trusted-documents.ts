import { setImmediate as immediate } from 'node:timers/promises';
import {
  GraphQLError,
  getNamedType,
  getOperationAST,
  isAbstractType,
  Kind,
  type SelectionSetNode,
  type ValidationRule,
  validate,
} from 'graphql';
import type { Logger } from 'pino';
import { ConfigError } from '../errors/gateway-error.ts';
import type { GraphqlDocument } from './document.ts';

/** Documents by their ids. */
export type Manifest = ReadonlyMap<string, string>;

export type TrustedDocuments = Awaited<ReturnType<typeof readTrusted>>;

/**
 * Parses the documents of manifests, each in its own iteration of the event loop, so that requests are served meanwhile.
 * Throws a ConfigError that names every document that is invalid, exceeds a limit, or has the id of another one. Logs a
 * warning for documents that select a union or interface without `__typename`.
 */
export async function readTrusted(
  manifests: readonly Manifest[],
  parse: (text: string) => GraphqlDocument,
  log: Logger,
) {
  /** The names of documents in which a `__typename` is missing. */
  const incomplete: string[] = [];
  /** By the hashes of their texts. */
  const byHash = new Map<string, GraphqlDocument>();
  /** By their ids, and by the hashes of their texts. */
  const byId = new Map<string, GraphqlDocument>();
  const problems: string[] = [];
  for (const [id, text] of manifests.flatMap((manifest) => [...manifest])) {
    try {
      await immediate();
      const parsed = parse(text);
      // Several ids may name one text.
      const document = byHash.get(parsed.hash) ?? parsed;
      const [fault] = document.faults;
      if (fault) problems.push(`${id}: ${fault.message}`);
      if (lacksTypename(document)) incomplete.push(nameOf(document) ?? id);
      if ((byId.get(id) ?? document) !== document) problems.push(`${id}: names two documents`);
      byHash.set(document.hash, document);
      byId.set(id, document).set(document.hash, document);
    } catch (error) {
      problems.push(`${id}: ${messageOf(error)}`);
    }
  }
  if (problems.length > 0) {
    throw new ConfigError(['TRUSTED_DOCUMENTS has invalid documents:', ...problems].join('\n  '));
  }
  const message = 'trusted documents select a union or interface without __typename';
  if (incomplete.length > 0) log.warn({ documents: incomplete }, message);
  return { byHash, byId };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : 'invalid');

const nameOf = ({ ast }: GraphqlDocument) => getOperationAST(ast)?.name?.value;

const lacksTypename = ({ ast, schema }: GraphqlDocument) =>
  validate(schema, ast, [findMissingTypename]).length > 0;

/** Finds unions and interfaces that are selected without `__typename`, whose fields Apollo Client silently ignores. */
const findMissingTypename: ValidationRule = (context) => {
  /** Whether a selection set has `__typename`. Fragments on the type itself count, those on one of its members do not. */
  const has = ({ selections }: SelectionSetNode, type: string): boolean =>
    selections.some((selection) => {
      if (selection.kind === Kind.FIELD) {
        return selection.name.value === '__typename' && !selection.alias;
      }
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      const fragment = isSpread ? context.getFragment(selection.name.value) : selection;
      const condition = fragment?.typeCondition?.name.value ?? type;
      return fragment && condition === type && has(fragment.selectionSet, type);
    });
  return {
    Field({ selectionSet }) {
      const type = getNamedType(context.getType());
      if (!selectionSet || !isAbstractType(type) || has(selectionSet, type.name)) return;
      context.reportError(new GraphQLError('A __typename is missing.'));
    },
  };
};
