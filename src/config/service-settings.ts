import { z } from 'zod';
import { type ServiceName, services } from '../upstream/declarations.ts';
import { pairProblems, type TlsFiles } from '../upstream/transport/tls-files.ts';
import * as types from './environment-variable.ts';
import type { FileSetting } from './file-setting.ts';

/** The settings of a service. */
export type ServiceConfig = ReturnType<typeof settingsFrom>;

/** The variables of each service, without their prefix. */
const environment = z.object({
  BASE_URL: z.string('is required').pipe(types.baseUrl),
  TIMEOUT_MS: types.integer(1, 600_000).default(10_000),
  KEEP_ALIVE_S: types.integer(2, 3600).optional(),
  MAX_RESPONSE_BYTES: types.integer(1, 268_435_456).default(8_388_608),
  MAX_CONCURRENCY: types.integer(1, 65_535).default(256),
  HEADERS_FILE: types.headersFile.optional(),
  TLS_CA_FILE: types.certificates('list').optional(),
  TLS_CERT_FILE: types.certificates('chain').optional(),
  TLS_KEY_FILE: types.privateKey.optional(),
});

/** The names of the services. */
export const serviceNames = Object.keys(services) as ServiceName[];

/** Creates a value for each service. */
export function perService<Value>(create: (name: ServiceName) => Value) {
  const entries = serviceNames.map((name) => [name, create(name)]);
  return Object.fromEntries(entries) as Record<ServiceName, Value>;
}

/** The prefix of the variables of a service: `UPSTREAM_` for the ledger, `UPSTREAM_VENDORS_` for a service `vendors`. */
export function prefixOf(service: string): string {
  const word = service === 'ledger' ? '' : `${service.replaceAll(/(?<=.)(?=[A-Z])/g, '_')}_`;
  return `UPSTREAM_${word.toUpperCase()}`;
}

/** The variables of a service: their names, and the types that parse them. */
export function variablesOf(service: string): Record<string, z.ZodType> {
  const entries = Object.entries(environment.shape);
  return Object.fromEntries(entries.map(([name, type]) => [prefixOf(service) + name, type]));
}

/** Reads the settings of a service from its variables. Returns what is wrong with them if something is. */
export function readService(
  service: string,
  given: Readonly<Record<string, string | undefined>>,
): ServiceConfig | { problems: string[] } {
  const prefix = prefixOf(service);
  const own = Object.fromEntries(
    Object.keys(environment.shape).map((name) => [name, given[prefix + name]]),
  );
  const { data: env, error } = environment.safeParse(own);
  const problems = (error?.issues ?? []).map(
    ({ path, message }) => `${prefix}${String(path[0])} ${message}`,
  );
  const isHttp = URL.parse(own.BASE_URL ?? '')?.protocol === 'http:';
  if (isHttp && (own.TLS_CA_FILE || own.TLS_CERT_FILE || own.TLS_KEY_FILE)) {
    problems.push(
      `${prefix}BASE_URL must be https with ${prefix}TLS_CA_FILE, _CERT_FILE or _KEY_FILE`,
    );
  }
  if (!own.TLS_CERT_FILE !== !own.TLS_KEY_FILE) {
    problems.push(`${prefix}TLS_CERT_FILE and ${prefix}TLS_KEY_FILE are required together`);
  }
  if (!env) return { problems };
  const settings = settingsFrom(prefix, env);
  problems.push(...pairProblems(settings.tls, prefix));
  return problems.length > 0 ? { problems } : settings;
}

function settingsFrom(prefix: string, env: z.infer<typeof environment>) {
  const tls = { ca: env.TLS_CA_FILE, cert: env.TLS_CERT_FILE, key: env.TLS_KEY_FILE };
  return {
    /** The prefix of its variables. */
    prefix,
    baseUrl: env.BASE_URL,
    timeoutMs: env.TIMEOUT_MS,
    keepAliveS: env.KEEP_ALIVE_S,
    maxResponseBytes: env.MAX_RESPONSE_BYTES,
    maxConcurrency: env.MAX_CONCURRENCY,
    headers: env.HEADERS_FILE?.value ?? {},
    tls: tlsOf(tls),
    /** The files that are read again while the gateway runs. */
    files: { tls, headers: env.HEADERS_FILE },
  };
}

type TlsSettings = Record<'ca' | 'cert' | 'key', FileSetting<string> | undefined>;

/** The content of the files for TLS. Throws an error if one of them is not valid any more. */
export function tlsOf({ ca, cert, key }: TlsSettings): TlsFiles {
  return { ca: ca?.value, cert: cert?.value, key: key?.value };
}

/** What the log shows of the settings of a service: of its URL only the origin, of files their paths, of headers their names. */
export function shownOf({ baseUrl, timeoutMs, headers, files, ...limits }: ServiceConfig) {
  const { ca, cert, key } = files.tls;
  return {
    timeoutMs,
    keepAliveS: limits.keepAliveS,
    maxResponseBytes: limits.maxResponseBytes,
    maxConcurrency: limits.maxConcurrency,
    baseUrl: baseUrl.origin,
    headers: Object.keys(headers),
    headersFile: files.headers?.path,
    tls: { ca: ca?.path, cert: cert?.path, key: key?.path },
  };
}
