import { closest as closestName, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { ConfigError } from './errors/gateway-error.ts';
import { WorkflowAction } from './generated/resolvers.ts';
import {
  asymmetric,
  baseUrl,
  boolean,
  certificates,
  documentManifests,
  headerNames,
  headers,
  headersFile,
  integer,
  jwksFile,
  list,
  nonEmptyList,
  origin,
  privateKey,
  store,
  storeFile,
  url,
  workflowActions,
} from './settings/environment-variable.ts';
import { checkPair } from './upstream/transport/tls-files.ts';

/** The configuration of a gateway, read from the environment by `readConfig`. */
export type Config = ReturnType<typeof readConfig>;

/** The samplers of the OpenTelemetry specification that need no other service. */
const samplers = `always_on always_off traceidratio parentbased_always_on parentbased_always_off
  parentbased_traceidratio`.split(/\s+/);

const required = 'is required';

const environment = z.object({
  PORT: integer(0, 65_535).default(4000),
  HOST: z.string().default('0.0.0.0'),
  ADMIN_PORT: integer(0, 65_535).optional(),
  UPSTREAM_BASE_URL: z.string(required).pipe(baseUrl),
  UPSTREAM_TIMEOUT_MS: integer(1, 600_000).default(10_000),
  UPSTREAM_CSV_OPTION_PARAM: z.string().optional(),
  UPSTREAM_MAX_RESPONSE_BYTES: integer(1, 268_435_456).default(8_388_608),
  UPSTREAM_MAX_CONCURRENCY: integer(1, 65_535).default(256),
  UPSTREAM_HEADERS_FILE: headersFile.optional(),
  FORWARD_HEADERS: headerNames.default([]),
  UPSTREAM_TLS_CA_FILE: certificates('list').optional(),
  UPSTREAM_TLS_CERT_FILE: certificates('chain').optional(),
  UPSTREAM_TLS_KEY_FILE: privateKey.optional(),
  JWT_JWKS_URL: url.optional(),
  JWT_JWKS_FILE: jwksFile.optional(),
  JWT_ISSUER: z.string(required).pipe(nonEmptyList),
  JWT_AUDIENCE: z.string(required).pipe(nonEmptyList),
  JWT_ALGORITHMS: list
    .pipe(z.array(asymmetric).min(1, 'must not be empty'))
    .default(['RS256', 'PS256', 'ES256', 'EdDSA']),
  JWT_CLOCK_TOLERANCE_S: integer(0, 300).default(5),
  EXPLORER: z
    .enum(['sandbox', 'graphiql', 'off'], 'must be sandbox, graphiql or off')
    .default('off'),
  EXPLORER_HEADERS: headers.optional(),
  INTROSPECTION: boolean.default(false),
  CORS_ORIGINS: list.pipe(z.array(origin)).default([]),
  COMPRESSION: z.enum(['on', 'off'], 'must be on or off').default('on'),
  MAX_WRITES_PER_OPERATION: integer(1, 1000).default(5),
  WORKFLOW_ACTIONS: workflowActions.default(Object.values(WorkflowAction)),
  IDEMPOTENCY_STORE: store.optional(),
  IDEMPOTENCY_STORE_FILE: storeFile.optional(),
  // Longer than a claim may be held by a live sender.
  IDEMPOTENCY_RETENTION_S: integer(3600, 31_536_000).default(86_400),
  IDEMPOTENCY_MAX_KEYS: integer(1, 100_000_000).default(100_000),
  IDEMPOTENCY_LOSS_QUARANTINE_S: integer(0, 86_400).default(120),
  IDEMPOTENCY_REQUIRED: boolean.default(false),
  SHUTDOWN_DELAY_MS: integer(0, 600_000).default(2000),
  SHUTDOWN_TIMEOUT_MS: integer(1, 600_000).default(15_000),
  OTEL_SDK_DISABLED: z
    .string()
    .transform((value) => value.toLowerCase() === 'true')
    .default(false),
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url.optional(),
  OTEL_TRACES_SAMPLER: z
    .enum(samplers, `must be one of ${samplers.join(', ')}`)
    .default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
    .default('1')
    .transform(Number),
  TRUSTED_DOCUMENTS: documentManifests.optional(),
  TRUSTED_DOCUMENTS_MODE: z.enum(['enforce', 'log'], 'must be enforce or log').default('enforce'),
  GIT_COMMIT: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'must be the id of a commit')
    .default('unknown'),
  LOG_LEVEL: z
    .enum(
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'must be fatal, error, warn, info, debug, trace or silent',
    )
    .default('info'),
});

/** What is wrong with the variables for TLS together. */
function tlsProblems(env: z.infer<typeof environment>): string[] {
  const {
    UPSTREAM_TLS_CA_FILE: ca,
    UPSTREAM_TLS_CERT_FILE: cert,
    UPSTREAM_TLS_KEY_FILE: key,
  } = env;
  if ((ca ?? cert ?? key) === undefined) return [];
  if (env.UPSTREAM_BASE_URL.protocol !== 'https:') {
    return ['UPSTREAM_BASE_URL must be https with UPSTREAM_TLS_CA_FILE, _CERT_FILE or _KEY_FILE'];
  }
  if ((cert === undefined) !== (key === undefined)) {
    return ['UPSTREAM_TLS_CERT_FILE and UPSTREAM_TLS_KEY_FILE are required together'];
  }
  try {
    checkPair({ cert: cert?.value, key: key?.value });
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : 'unknown'];
  }
}

/** Where traces are sent: the address for traces as it is, or that for every signal with a path. */
function tracesEndpointOf(env: z.infer<typeof environment>): URL | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = env;
  if (env.OTEL_SDK_DISABLED) return undefined;
  return own ?? (shared && new URL('v1/traces', shared.href.replace(/\/?$/, '/')));
}

/** The settings that are read again while the gateway runs. */
function filesOf(env: z.infer<typeof environment>) {
  return {
    tls: {
      ca: env.UPSTREAM_TLS_CA_FILE,
      cert: env.UPSTREAM_TLS_CERT_FILE,
      key: env.UPSTREAM_TLS_KEY_FILE,
    },
    headers: env.UPSTREAM_HEADERS_FILE,
    keys: env.JWT_JWKS_FILE,
    trustedDocuments: Object.fromEntries(Object.entries(env.TRUSTED_DOCUMENTS ?? {})),
  };
}

/** Whether every issuer of a list is a URL, so that its keys can be found by discovery. */
function isDiscoverable(issuers = ''): boolean {
  return list.parse(issuers).every((issuer) => url.safeParse(issuer).success);
}

/** What is wrong with other variables together, as they are given. */
function jointProblems(given: Record<string, string | undefined>): string[] {
  const both = (one: string, other: string) =>
    given[one] !== undefined && given[other] !== undefined
      ? [`set ${one} or ${other}, not both`]
      : [];
  const problems = [
    ...both('JWT_JWKS_URL', 'JWT_JWKS_FILE'),
    ...both('IDEMPOTENCY_STORE', 'IDEMPOTENCY_STORE_FILE'),
  ];
  if (given.TRUSTED_DOCUMENTS_MODE !== undefined && given.TRUSTED_DOCUMENTS === undefined) {
    problems.push('TRUSTED_DOCUMENTS_MODE requires TRUSTED_DOCUMENTS');
  }
  const { ADMIN_PORT: adminPort, PORT: port = '4000' } = given;
  if (adminPort === port && port !== '0') problems.push('ADMIN_PORT must not be PORT');
  const hasKeys = given.JWT_JWKS_URL !== undefined || given.JWT_JWKS_FILE !== undefined;
  if (!hasKeys && !isDiscoverable(given.JWT_ISSUER)) {
    problems.push('JWT_ISSUER must be http(s) URLs, unless JWT_JWKS_URL or JWT_JWKS_FILE is set');
  }
  return problems;
}

/** All variables: their names, and what parses them. */
export const variables = environment.shape;
const variableNames = Object.keys(variables);

/**
 * A line for each variable that looks like one of the gateway's and is none. Names of one word are left
 * out: `HOSTNAME` and the like belong to others.
 */
function findMisspelled(names: string[]): string[] {
  return names.flatMap((name) => {
    if (variableNames.includes(name) || !name.includes('_')) return [];
    const whole = variableNames.find((known) => known.startsWith(name));
    const meant = whole ?? closestName(name, variableNames);
    const [prefix = ''] = meant.split('_');
    const isClose = meant.includes('_') && distance(name, meant) <= 3;
    if (!whole && !(isClose && name.startsWith(prefix))) return [];
    return [`${name} is unknown. Did you mean ${meant}?`];
  });
}

/**
 * Reads the configuration from environment variables; an empty one counts as missing. Durations are in
 * milliseconds unless the name says otherwise, sizes in bytes. Throws a ConfigError with one line for
 * each invalid or missing variable.
 */
export function readConfig(values: Record<string, string | undefined>) {
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const { data: env, error } = environment.safeParse(given);
  const problems = (error?.issues ?? []).map(
    ({ path, message }) => `${String(path[0])} ${message}`,
  );
  problems.push(...jointProblems(given));
  if (env) problems.push(...tlsProblems(env));
  problems.push(...findMisspelled(Object.keys(given)));
  if (env === undefined || problems.length > 0) {
    throw new ConfigError(['The configuration is invalid:', ...new Set(problems)].join('\n  '));
  }
  return {
    port: env.PORT,
    host: env.HOST,
    adminPort: env.ADMIN_PORT,
    upstream: {
      baseUrl: env.UPSTREAM_BASE_URL,
      timeoutMs: env.UPSTREAM_TIMEOUT_MS,
      csvOptionParam: env.UPSTREAM_CSV_OPTION_PARAM,
      workflowActions: env.WORKFLOW_ACTIONS,
      maxResponseBytes: env.UPSTREAM_MAX_RESPONSE_BYTES,
      maxConcurrency: env.UPSTREAM_MAX_CONCURRENCY,
      headers: env.UPSTREAM_HEADERS_FILE?.value ?? {},
      tls: {
        ca: env.UPSTREAM_TLS_CA_FILE?.value,
        cert: env.UPSTREAM_TLS_CERT_FILE?.value,
        key: env.UPSTREAM_TLS_KEY_FILE?.value,
      },
    },
    jwt: {
      keys: env.JWT_JWKS_FILE?.value ?? env.JWT_JWKS_URL,
      issuers: env.JWT_ISSUER,
      audiences: env.JWT_AUDIENCE,
      algorithms: env.JWT_ALGORITHMS,
      clockToleranceS: env.JWT_CLOCK_TOLERANCE_S,
    },
    explorer: env.EXPLORER,
    explorerHeaders: env.EXPLORER_HEADERS ?? {},
    introspection: env.INTROSPECTION,
    forwardHeaders: env.FORWARD_HEADERS,
    corsOrigins: env.CORS_ORIGINS,
    compression: env.COMPRESSION === 'on',
    maxWritesPerOperation: env.MAX_WRITES_PER_OPERATION,
    trustedDocuments: env.TRUSTED_DOCUMENTS?.map(({ value }) => value),
    areOthersExecuted: env.TRUSTED_DOCUMENTS_MODE === 'log',
    idempotency: {
      store: env.IDEMPOTENCY_STORE ?? env.IDEMPOTENCY_STORE_FILE?.value ?? 'memory',
      retentionMs: env.IDEMPOTENCY_RETENTION_S * 1000,
      maxKeys: env.IDEMPOTENCY_MAX_KEYS,
      quarantineMs: env.IDEMPOTENCY_LOSS_QUARANTINE_S * 1000,
      isRequired: env.IDEMPOTENCY_REQUIRED,
    },
    shutdownDelayMs: env.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: env.SHUTDOWN_TIMEOUT_MS,
    tracing: {
      endpoint: tracesEndpointOf(env),
      sampler: env.OTEL_TRACES_SAMPLER,
      sampledShare: env.OTEL_TRACES_SAMPLER_ARG,
    },
    commit: env.GIT_COMMIT,
    logLevel: env.LOG_LEVEL,
    files: filesOf(env),
    storeFile: env.IDEMPOTENCY_STORE_FILE?.path,
  };
}

/**
 * The configuration without anything secret, for the log. Of URLs, only their origin, because a path may be secret; of
 * the keys, which are public, also the path. Of files, their paths.
 */
export function settingsOf({ files, storeFile, areOthersExecuted, ...settings }: Config) {
  const { upstream, jwt, explorerHeaders, idempotency, ...config } = settings;
  const keys = jwt.keys instanceof URL ? jwt.keys.origin + jwt.keys.pathname : files.keys?.path;
  const mode = areOthersExecuted ? 'log' : 'enforce';
  return {
    ...config,
    upstream: {
      ...upstream,
      baseUrl: upstream.baseUrl.origin,
      headers: Object.keys(upstream.headers),
      headersFile: files.headers?.path,
      tls: Object.fromEntries(Object.entries(files.tls).map(([name, file]) => [name, file?.path])),
    },
    jwt: { ...jwt, keys: keys ?? 'discovery' },
    explorerHeaders: Object.keys(explorerHeaders),
    trustedDocuments:
      config.trustedDocuments &&
      Object.values(files.trustedDocuments).map(({ path, value }) => ({ path, size: value.size })),
    trustedDocumentsMode: config.trustedDocuments && mode,
    idempotency: { ...idempotency, store: idempotency.store.split(':')[0], storeFile },
    tracing: { ...config.tracing, endpoint: config.tracing.endpoint?.origin },
  };
}
