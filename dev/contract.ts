import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ledger } from '../src/resolvers/ledger.ts';
import type { Operation } from '../src/upstream/operations.ts';
import { problemFaults, type SentRequest } from '../src/upstream/problem-faults.ts';
import { parseBody } from '../src/upstream/responses.ts';
import { defineRequest } from '../src/upstream/transport/got-client.ts';
import { openApiDifferences, titles } from './openapi-differences.ts';
import { readOpenApi } from './openapi-file.ts';
import { checkPath } from './path-check.ts';
import { type Differences, differencesOf } from './wire-differences.ts';

const usage = `Usage: CONTRACT_TOKEN=… npm run contract -- <base URL> [options]
       npm run contract -- --openapi <file>

Sends one read to a real service, compares the response with the declarations, and says what they do not know. It never writes.
Exits with 0 if there is no difference, otherwise with 1. docs/how-to/check-the-service.md explains the output.

  --query <text>     the query of the read, without "?"; by default the one that probes the service
  --token <text>     the bearer token; CONTRACT_TOKEN keeps it out of the list of processes
  --openapi <file>   instead: compares the OpenAPI 3 description of the service, such as swagger.json, with the declarations
  --stand-in <port>  instead: starts a stand-in for the service on this port, to which the base URL must lead, and says
                     whether something on the way repeats or answers a GET
`;

/** What a check prints, and whether it has found no difference. */
type Report = { readonly text: string; readonly isFine: boolean };

/** Sends the probe of the service once, by default with its own query, and compares the response with what is declared. */
export async function checkResponse(url: string, token: string, query?: string): Promise<Report> {
  const { operation, search } = ledger.probe;
  const { effect, method, name, response }: Operation = operation;
  // The type of the declarations says the same. A write must never be sent from here, whatever somebody changes there.
  if (effect !== 'read') throw new Error(`${name} is not a read.`);
  const target = new URL(name, url.endsWith('/') ? url : `${url}/`);
  target.search = query ?? search;
  const received = await fetch(target, {
    method,
    headers: headersOf(target, token),
    redirect: 'manual', // A redirect could lead to an operation that writes.
    signal: AbortSignal.timeout(60_000),
  });
  const bytes = new Uint8Array(await received.arrayBuffer());
  const type = received.headers.get('content-type') ?? 'no content type';
  const head = `${method} ${target}\n${received.status}, ${type}, ${bytes.length} bytes\n`;
  if (received.status !== 200) {
    const reason = rejectionOf({ operation, search: target.search }, received, bytes);
    const isDefault = received.status === 400 && query === undefined;
    const text = `${head}\nOnly a response with 200 can be compared.\n${reason}${isDefault ? emptyProject : ''}`;
    return { text, isFine: false };
  }
  // A service may respond with one of several records: the one that fits best is meant.
  const body = parseBody(bytes);
  const [best] = response.wire
    .map((declared) => differencesOf(declared, body))
    .toSorted((a, b) => a.unknown.size - b.unknown.size);
  return best ? describe(head, best) : { text: head, isFine: false };
}

const emptyProject = `The project of the default parameters is empty. Send one that the service knows:
  --query 'target=5&project=north-plant&includeHide=true'
`;

/** What is wrong with the parameters, in the words of the service, if it has a body of application/problem+json. */
function rejectionOf(request: SentRequest, { headers }: Response, bytes: Uint8Array): string {
  const faults = problemFaults(Object.fromEntries(headers), parsed(bytes), request);
  const texts = faults.map(({ path, message }) => `  ${path.join('.')}: ${message}\n`);
  return texts.length > 0 ? `The service rejects the parameters:\n${texts.join('')}` : '';
}

/** A parsed body. Undefined if it is not JSON. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return parseBody(bytes);
  } catch {
    return undefined;
  }
}

/** The headers of the gateway, because a service may select the type of its response by them. */
function headersOf(target: URL, token: string): Headers {
  const headers = new Headers({ authorization: `Bearer ${token}` });
  for (const [name, value] of Object.entries(defineRequest(target, 'GET').headers)) {
    if (value !== undefined) headers.set(name, String(value));
  }
  return headers;
}

function describe(head: string, { unknown, unseen, records }: Differences): Report {
  const times = (number: number) => `${number} ${number === 1 ? 'time' : 'times'}`;
  const lines = (entries: Iterable<readonly [string, number]>) =>
    Array.from(entries, ([text, number]) => `  ${text} (${times(number)})`);
  const sections = [
    ['Compared records:', ...lines(records)],
    unknown.size === 0
      ? ['Everything in the response is declared.']
      : ['The declarations do not know:', ...lines(unknown)],
    ...(unseen.length > 0
      ? [['Declared, but in no record:', ...unseen.map((path) => `  ${path}`)]]
      : []),
  ];
  const text = sections.map((section) => `${section.join('\n')}\n`).join('\n');
  return { text: `${head}\n${text}`, isFine: unknown.size === 0 };
}

/** Compares an OpenAPI description with the declarations. */
function checkDescription(path: string): Report {
  const file = readOpenApi(readFileSync(path), path);
  const findings = openApiDifferences(file);
  const isFine = findings.every(({ kind }) => kind !== 'differs');
  const sections = Object.entries(titles).flatMap(([kind, title]) => {
    const lines = findings.flatMap((one) => (one.kind === kind ? `  ${one.text}\n` : []));
    return lines.length > 0 ? `${title}\n${lines.join('')}` : [];
  });
  const first = isFine ? ['The description agrees with the declarations.\n'] : [];
  return { text: [`${file.title}\n`, ...first, ...sections].join('\n'), isFine };
}

/** The check that the arguments ask for. Throws an Error that says what is missing or not valid. */
function checkOf(args: string[], tokenOfEnvironment?: string): () => Report | Promise<Report> {
  const type = 'string';
  const options = {
    query: { type },
    token: { type },
    'stand-in': { type },
    openapi: { type },
  } as const;
  const { positionals, values } = parseArgs({ args, allowPositionals: true, options });
  const [url = ''] = positionals;
  const { query, token = tokenOfEnvironment, openapi, 'stand-in': port } = values;
  if (openapi !== undefined) return () => checkDescription(openapi);
  if (!URL.canParse(url)) throw new Error('The base URL is missing or not valid.');
  if (port !== undefined) {
    const standIn = Number(port);
    if (!/^\d+$/.test(port) || standIn < 1 || standIn > 65_535) {
      throw new Error('The port of the stand-in must be a whole number from 1 to 65535.');
    }
    const duration =
      'about 70 seconds, and longer if a proxy sends nothing for a while after a failure';
    return () => {
      process.stderr.write(`This takes ${duration}.\n`);
      return checkPath({ url, standIn });
    };
  }
  if (token === undefined) {
    throw new Error('There is no token. Set CONTRACT_TOKEN to the token of a user of the service.');
  }
  return () => checkResponse(url, token, query);
}

/** What the command writes, and its exit code. */
export async function contract(args: string[], tokenOfEnvironment?: string) {
  let hint = `\n${usage}`;
  try {
    const check = checkOf(args, tokenOfEnvironment);
    hint = '';
    const { text, isFine } = await check();
    return { output: text, error: '', status: isFine ? 0 : 1 };
  } catch (error) {
    // The message of `fetch` is in its cause.
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    const text = cause instanceof Error ? cause.message : message;
    return { output: '', error: `${text}\n${hint}`, status: 1 };
  }
}

// `npm run contract`
if (import.meta.main) {
  const ended = contract(process.argv.slice(2), process.env.CONTRACT_TOKEN);
  void ended.then(({ output, error, status }) => {
    process.stdout.write(output);
    process.stderr.write(error);
    process.exitCode = status;
  });
}
