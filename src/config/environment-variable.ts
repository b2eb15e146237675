import { createPrivateKey } from 'node:crypto';
import { isIP } from 'node:net';
import { faultOfStoreUrl } from '@ledger-gateway/at-most-once/check-store';
import { z } from 'zod';
import { algorithmNames, type KeySet, keySet } from '../auth/key-set.ts';
import { normalizeType } from '../auth/verify.ts';
import { printable } from '../lib/short-text.ts';
import { TextFault } from '../lib/strict-json.ts';
import { readPolicy } from '../policy/policy-file.ts';
import type { Operation } from '../upstream/operations.ts';
import { expiryOf } from '../upstream/transport/tls-files.ts';
import { FileSetting } from './file-setting.ts';

/*
 * The types of environment variables. Each parses the text of a variable. Its error says what the variable must be.
 */

const or = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** One of these texts. */
export const oneOf = <Value extends string>(...values: Value[]) =>
  z.enum(values, `must be ${or.format(values)}`);

/** A text that matches a pattern. */
export const matching = (pattern: RegExp, message: string) => z.string().regex(pattern, message);

/** An integer, in this unit. The error shows the value. */
export function integer(min: number, max: number, unit?: 'milliseconds' | 'seconds' | 'bytes') {
  const what = unit ? `whole ${unit}` : 'an integer';
  const range = `must be ${what} from ${min} to ${max}${unit ? ', without a unit' : ''}`;
  return z.string().transform((text, context) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    context.addIssue({ code: 'custom', message: `${range}, and not "${printable(text)}"` });
    return z.NEVER;
  });
}

/** Labels with dots between them. If the last one is a number, it is meant as an IPv4 address, which this one is not. */
const hostName = /^(?=.{1,253}$)(?!(.*\.)?\d+\.?$)[a-z\d][a-z\d_-]*(\.[a-z\d_-]+)*\.?$/i;

/** A host name or an IP address. */
export const host = z
  .string()
  .refine(
    (value) => isIP(value) > 0 || hostName.test(value),
    'must be an IP address or a host name, such as 0.0.0.0 or localhost',
  );

/** The name of a query parameter. */
export const parameterName = matching(
  /^[\w.~$[\]-]+$/,
  'must be the name of a query parameter: letters, digits and _ - . ~ $ [ ]',
);

export const boolean = oneOf('true', 'false').transform((value) => value === 'true');

export const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

const listOf = <Item>(item: z.ZodType<Item, string>, ifEmpty = 'must not be empty') =>
  list.pipe(z.array(item).min(1, ifEmpty));

export const nonEmptyList = listOf(
  matching(
    /^(?!["'“”„[]).*(?<!["'“”\]])$/,
    'must be separated by commas, without quotes or brackets',
  ),
);

/** A list of some of these names. */
export function someOf<Name extends string>(names: Name[]) {
  const message = `must be a list of ${names.join(', ')}`;
  return listOf(z.enum(names, message), message);
}

/** Where the audit record is written. */
export const audit = matching(/^(off|stdout|file:.+)$/, 'must be off, stdout or file:PATH');

export const algorithm = oneOf(...algorithmNames);
export const algorithms = someOf(algorithmNames);

const tokenFault = 'must be a list of types such as at+jwt';

/** Types of tokens, in the form in which they are compared. */
export const tokenTypes = listOf(
  matching(/^(application\/)?[\w!#$&^.+-]+$/i, tokenFault).transform(normalizeType),
  tokenFault,
);

export const url = z
  .string()
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'must be an http(s) URL')
  .transform((value) => new URL(value))
  .refine(({ username, password }) => !username && !password, 'must not contain credentials');

// This checks the text, because a parsed URL does not show whether there is an empty query or none.
export const baseUrl = matching(/^[^?#]*$/, 'must not have a query or a fragment')
  .pipe(url)
  .transform((value) => (value.pathname.endsWith('/') ? value : new URL(`${value.href}/`)));

/** A base URL below which these operations can be, so it does not end with the path of one. */
export const baseOf = (operations: readonly Operation[]) =>
  z.instanceof(URL).superRefine(({ pathname }, context) => {
    const [last = ''] = pathname.split('/').slice(-2);
    const isNamed = operations.some(({ name }) => name.toLowerCase() === last.toLowerCase());
    const message = `must be the address below which the operations are: leave out ${last}`;
    if (isNamed) context.addIssue({ code: 'custom', message });
  });

/** An origin. It may have one `*`: for the port, or for the whole leftmost label of at least three. */
export const origin = z.string().refine((value) => {
  const wildcard = /(?<=:\/\/)\*(?=\.[^.]+\.)|(?<=:)\*$/;
  // `*` is replaced by a number, which is valid both as a label and as a port. URL accepts `*`, so none may be left.
  const example = value.replace(wildcard, '1');
  return !example.includes('*') && URL.canParse(example) && new URL(example).origin === example;
}, 'must be origins such as https://app.example.com, https://*.preview.example.com or http://localhost:*');

/** A text that `parse` reads. `message` says what the variable must be, unless `parse` throws a TextFault. */
function parsedBy<Value>(parse: (text: string) => Value, message: string) {
  return z.string(message).transform((text, context) => {
    try {
      return parse(text);
    } catch (error) {
      const fault = error instanceof TextFault ? error.message : message;
      context.addIssue({ code: 'custom', message: fault });
      return z.NEVER;
    }
  });
}

/** A file whose content `parse` reads, now and each time it has changed. */
export function fileOf<Value>(parse: (text: string) => Value, message: string) {
  const content = parsedBy(parse, message);
  const read = (path: string) => {
    const file = new FileSetting(path, content);
    if (file.fault) throw new TextFault(file.fault);
    return file;
  };
  return parsedBy(read, message);
}

function parseStore(text: string): string {
  if (/^(memory|file:.+)$/.test(text)) return text;
  const fault = faultOfStoreUrl(text);
  if (fault !== undefined) throw new TextFault(fault);
  return text;
}

/** The store of idempotency keys. */
export const store = parsedBy(
  parseStore,
  'must be memory, file:PATH, redis://…, rediss://… or postgres://…',
);

/** A file with the address of the store of idempotency keys, because the address may contain a password. */
export const storeFile = fileOf(
  (text) => parseStore(text.trim()),
  'must be a readable file with a value of IDEMPOTENCY_STORE',
);

const jwksFault = 'must be a readable file with a JSON Web Key Set';

function parseJwks(text: string): KeySet {
  const { data, error } = keySet.safeParse(JSON.parse(text));
  if (data === undefined) throw new TextFault(`${jwksFault}: ${error.issues[0]?.message}`);
  return data;
}

/** The text of a file with a key set. */
export const jwks = parsedBy(parseJwks, jwksFault);

export const jwksFile = fileOf(parseJwks, jwksFault);

export const headers = parsedBy(
  (text) => z.record(z.string(), z.string()).parse(JSON.parse(text)),
  'must be a JSON object of strings',
);

/** Headers that the gateway sets or interprets, and headers that belong to one connection. */
const ownHeaders = new Set(
  `authorization proxy-authorization x-request-id traceparent tracestate idempotency-key idempotency-key-age
  idempotency-response-name host
  content-type content-length content-encoding accept accept-encoding user-agent expect connection keep-alive
  proxy-connection te trailer transfer-encoding upgrade`.split(/\s+/),
);

const headerName = z
  .string()
  .toLowerCase()
  .refine(
    (name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !ownHeaders.has(name),
    'must be names of headers, of which none is Authorization or another one of the gateway',
  );

/** Names of headers. They are sorted, so that their order in the variable does not matter. */
export const headerNames = list
  .pipe(z.array(headerName))
  .transform((names) => [...new Set(names)].sort());

const headerValue = z
  .string()
  .trim()
  .regex(/^[\t\x20-\x7e]+$/);

/** A file with headers, one `Name: value` on each line. */
export const headersFile = fileOf((text) => {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line) => line.split(/:(.*)/s, 2));
  return z.record(headerName, headerValue).parse(Object.fromEntries(pairs));
}, 'must be a readable file with a header `Name: value` in each line, of which none is Authorization or another one of the gateway');

/** A file with a policy for these operations. */
export const policyFile = (operations: readonly Operation[]) =>
  fileOf((text) => readPolicy(text, operations), 'must be a readable file with a policy');

/** A manifest of documents by their ids, of graphql-codegen's client preset or of Apollo's tools. */
const manifest = z.union([
  z
    .object({
      format: z.literal('apollo-persisted-query-manifest'),
      operations: z.array(z.object({ id: z.string(), body: z.string() })),
    })
    .transform(({ operations }) => new Map(operations.map(({ id, body }) => [id, body]))),
  z.record(z.string(), z.string()).transform((documents) => new Map(Object.entries(documents))),
]);

const documentManifest = fileOf(
  (text) => manifest.parse(JSON.parse(text)),
  'must be readable manifests: JSON objects of ids and documents, or those of Apollo',
);

/** Manifests of documents. */
export const documentManifests = listOf(documentManifest);

/** A file with certificates in PEM: a chain, or a list of CAs. Its value is the text. */
export const certificates = (kind: 'chain' | 'list') =>
  fileOf((pem) => {
    const expiry = expiryOf(pem, kind);
    if (expiry > Date.now()) return pem;
    throw new TextFault(`expired at ${new Date(expiry).toISOString()}`);
  }, 'must be a readable file with certificates in PEM');

/** A file with a private key in PEM. Its value is the text. */
export const privateKey = fileOf((pem) => {
  createPrivateKey(pem);
  return pem;
}, 'must be a readable file with a private key in PEM');
