import { z } from 'zod';
import { pairProblems, type TlsFiles } from '../upstream/transport/tls-files.ts';
import * as types from './environment-variable.ts';
import type { FileSetting } from './file-setting.ts';

/** The variables of the service. */
export const serviceVariables = z.object({
  UPSTREAM_BASE_URL: z.string('is required').pipe(types.baseUrl),
  UPSTREAM_TIMEOUT_MS: types.integer(1, 600_000, 'milliseconds').default(10_000),
  UPSTREAM_KEEP_ALIVE_S: types.integer(2, 3600, 'seconds').optional(),
  UPSTREAM_MAX_RESPONSE_BYTES: types.integer(1, 268_435_456, 'bytes').default(8_388_608),
  UPSTREAM_MAX_CONCURRENCY: types.integer(1, 65_535).default(256),
  UPSTREAM_UNIQUE_PARAM: types.parameterName.optional(),
  UPSTREAM_HEADERS_FILE: types.headersFile.optional(),
  UPSTREAM_TLS_CA_FILE: types.certificates('list').optional(),
  UPSTREAM_TLS_CERT_FILE: types.certificates('chain').optional(),
  UPSTREAM_TLS_KEY_FILE: types.privateKey.optional(),
});

/** The settings of the service. */
export type ServiceConfig = ReturnType<typeof settingsFrom>;

/** Reads the settings of the service from its variables. `service` is undefined if one of them is invalid. */
export function readService(given: Readonly<Record<string, string | undefined>>) {
  const { data: env, error } = serviceVariables.safeParse(given);
  const problems = (error?.issues ?? []).map(
    ({ path, message }) => `${String(path[0])} ${message}`,
  );
  const [ca, cert, key] = ['CA', 'CERT', 'KEY'].map((name) => given[`UPSTREAM_TLS_${name}_FILE`]);
  if (URL.parse(given.UPSTREAM_BASE_URL ?? '')?.protocol === 'http:' && (ca || cert || key)) {
    problems.push(
      'UPSTREAM_BASE_URL must be https with UPSTREAM_TLS_CA_FILE, _CERT_FILE or _KEY_FILE',
    );
  }
  if (!cert !== !key) {
    problems.push('UPSTREAM_TLS_CERT_FILE and UPSTREAM_TLS_KEY_FILE are required together');
  }
  const service = env && settingsFrom(env);
  if (service) problems.push(...pairProblems(service.tls));
  return { service, problems };
}

function settingsFrom(env: z.infer<typeof serviceVariables>) {
  const tls = {
    ca: env.UPSTREAM_TLS_CA_FILE,
    cert: env.UPSTREAM_TLS_CERT_FILE,
    key: env.UPSTREAM_TLS_KEY_FILE,
  };
  return {
    baseUrl: env.UPSTREAM_BASE_URL,
    timeoutMs: env.UPSTREAM_TIMEOUT_MS,
    keepAliveS: env.UPSTREAM_KEEP_ALIVE_S,
    maxResponseBytes: env.UPSTREAM_MAX_RESPONSE_BYTES,
    maxConcurrency: env.UPSTREAM_MAX_CONCURRENCY,
    uniqueParam: env.UPSTREAM_UNIQUE_PARAM,
    headers: env.UPSTREAM_HEADERS_FILE?.value ?? {},
    tls: tlsOf(tls),
    /** The files that are read again while the gateway runs. */
    files: { tls, headers: env.UPSTREAM_HEADERS_FILE },
  };
}

type TlsSettings = Record<'ca' | 'cert' | 'key', FileSetting<string> | undefined>;

/** The content of the files for TLS. Throws an error if one of them is not valid any more. */
export function tlsOf({ ca, cert, key }: TlsSettings): TlsFiles {
  return { ca: ca?.value, cert: cert?.value, key: key?.value };
}

/** What the log shows of the settings of the service: of its URL only the origin, of files their paths, of headers their names. */
export function shownOf({ baseUrl, timeoutMs, headers, files, ...limits }: ServiceConfig) {
  const { ca, cert, key } = files.tls;
  return {
    timeoutMs,
    keepAliveS: limits.keepAliveS,
    maxResponseBytes: limits.maxResponseBytes,
    maxConcurrency: limits.maxConcurrency,
    uniqueParam: limits.uniqueParam,
    baseUrl: baseUrl.origin,
    headers: Object.keys(headers),
    headersFile: files.headers?.path,
    tls: { ca: ca?.path, cert: cert?.path, key: key?.path },
  };
}
