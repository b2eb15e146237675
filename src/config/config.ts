import type { JwtConfig } from '../auth/verify.ts';
import { ConfigError } from '../errors/gateway-error.ts';
import type { Operation } from '../upstream/operations.ts';
import type { TlsFiles } from '../upstream/transport/tls-files.ts';
import { type Environment, environmentOf, jointProblems } from './environment.ts';
import { FileSetting } from './file-setting.ts';
import { readGiven } from './given-variables.ts';

/** The configuration of a gateway, read from the environment by `readConfig`. */
export type Config = ReturnType<typeof readConfig>;

/** Where traces are sent: to the address for traces, or to the address for all signals with the path of traces added. */
function tracesEndpointOf(env: Environment): URL | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = env;
  if (env.OTEL_SDK_DISABLED) return undefined;
  return own ?? (shared && new URL('v1/traces', shared.href.replace(/\/?$/, '/')));
}

function httpOf(env: Environment) {
  return {
    port: env.PORT,
    host: env.HOST,
    adminPort: env.ADMIN_PORT,
    forwardHeaders: env.FORWARD_HEADERS,
    corsOrigins: env.CORS_ORIGINS,
    compression: env.COMPRESSION === 'on',
    explorer: env.EXPLORER,
    explorerHeaders: env.EXPLORER_HEADERS ?? {},
    shutdownDelayMs: env.SHUTDOWN_DELAY_MS,
  };
}

function jwtOf(env: Environment): JwtConfig {
  const { JWT_ISSUER = [], JWT_AUDIENCE: audiences = [] } = env;
  const keys = env.JWT_JWKS_FILE ?? env.JWT_JWKS_URL;
  return {
    issuers:
      env.JWT_ISSUERS_FILE?.value ?? JWT_ISSUER.map((issuer) => ({ issuer, audiences, keys })),
    algorithms: env.JWT_ALGORITHMS,
    clockToleranceS: env.JWT_CLOCK_TOLERANCE_S,
    types: env.JWT_TYP,
    isBindingChecked: env.JWT_CNF === 'proxy',
  };
}

function serviceOf(env: Environment) {
  return {
    baseUrl: env.UPSTREAM_BASE_URL,
    timeoutMs: env.UPSTREAM_TIMEOUT_MS,
    keepAliveS: env.UPSTREAM_KEEP_ALIVE_S,
    maxResponseBytes: env.UPSTREAM_MAX_RESPONSE_BYTES,
    maxConcurrency: env.UPSTREAM_MAX_CONCURRENCY,
    uniqueParam: env.UPSTREAM_UNIQUE_PARAM,
    headers: env.UPSTREAM_HEADERS_FILE?.value ?? {},
    tls: tlsOf(env),
  };
}

/** The content of the files for TLS. Throws an error if one of them is not valid any more. */
export function tlsOf(env: Environment): TlsFiles {
  return {
    ca: env.UPSTREAM_TLS_CA_FILE?.value,
    cert: env.UPSTREAM_TLS_CERT_FILE?.value,
    key: env.UPSTREAM_TLS_KEY_FILE?.value,
  };
}

/**
 * Says that a mutation may take longer than the shutdown waits, if one of these times or the number of writes was set. The writes
 * of a mutation are sent one after another. With the defaults, one write has enough time, and five have not.
 */
function shortShutdownOf(env: Environment, given: Record<string, string>) {
  const set = ['UPSTREAM_TIMEOUT_MS', 'MAX_WRITES_PER_OPERATION', 'SHUTDOWN_TIMEOUT_MS'];
  if (!set.some((name) => name in given)) return undefined;
  const mutationMs = env.UPSTREAM_TIMEOUT_MS * env.MAX_WRITES_PER_OPERATION;
  const { SHUTDOWN_TIMEOUT_MS: shutdownTimeoutMs } = env;
  return shutdownTimeoutMs > mutationMs ? undefined : { mutationMs, shutdownTimeoutMs };
}

/**
 * Reads the configuration from environment variables, grouped by the part of the gateway that uses it. An empty variable
 * counts as missing. Durations are in milliseconds unless the name says otherwise, sizes in bytes. Throws a ConfigError with
 * one line for each invalid or missing variable.
 */
export function readConfig(
  values: Record<string, string | undefined>,
  operations: readonly Operation[],
) {
  const environment = environmentOf(operations);
  const { given, withoutEffect, ...found } = readGiven(values, Object.keys(environment.shape));
  const { data: env, error } = environment.safeParse(given);
  const problems = [
    ...found.problems,
    ...(error?.issues ?? []).map(({ path, message }) => `${String(path[0])} ${message}`),
    ...jointProblems(given),
  ];
  if (!env || problems.length > 0) {
    throw new ConfigError(['The configuration is invalid:', ...new Set(problems)].join('\n  '));
  }
  return {
    /** The values of the variables. Those that are files are read again while the gateway runs. */
    environment: env,
    http: httpOf(env),
    graphql: {
      introspection: env.INTROSPECTION,
      maxWritesPerOperation: env.MAX_WRITES_PER_OPERATION,
      trustedDocuments: env.TRUSTED_DOCUMENTS?.map(({ value }) => value),
      trustedDocumentsMode: env.TRUSTED_DOCUMENTS_MODE,
    },
    service: serviceOf(env),
    /** How long lists are kept. 0 keeps none. */
    readCacheMs: env.READ_CACHE_S * 1000,
    /** Settings of operations. */
    ledger: {
      csvOptionParam: env.UPSTREAM_CSV_OPTION_PARAM,
      workflowActions: env.WORKFLOW_ACTIONS,
    },
    jwt: jwtOf(env),
    idempotency: {
      store: env.IDEMPOTENCY_STORE ?? env.IDEMPOTENCY_STORE_FILE?.value ?? 'memory',
      retentionMs: env.IDEMPOTENCY_RETENTION_S * 1000,
      maxKeys: env.IDEMPOTENCY_MAX_KEYS,
      quarantineMs: env.IDEMPOTENCY_LOSS_QUARANTINE_S * 1000,
      isRequired: env.IDEMPOTENCY_REQUIRED,
    },
    tracing: {
      endpoint: tracesEndpointOf(env),
      sampler: env.OTEL_TRACES_SAMPLER,
      sampledShare: env.OTEL_TRACES_SAMPLER_ARG,
    },
    shutdownTimeoutMs: env.SHUTDOWN_TIMEOUT_MS,
    audit: { output: env.AUDIT, subject: env.AUDIT_SUBJECT },
    commit: env.GIT_COMMIT,
    /** What is valid, but probably not intended. */
    warnings: {
      /** Variables of OpenTelemetry that are set, and have no effect. */
      withoutEffect,
      shortShutdown: shortShutdownOf(env, given),
    },
    logLevel: env.LOG_LEVEL,
  };
}

/**
 * What the log shows of the settings, by their variables. A setting may be secret: of URLs, it is only the origin, because a
 * path may be secret, too. (A fault of public keys names their address without its query.) Of files, it is their paths; of
 * headers, their names; of the policy, its hash and what its rules cover.
 */
export function settingsOf({ environment, idempotency }: Config) {
  const shown = Object.entries(environment).map(([name, value]) => [name, shownOf(value)]);
  const { UPSTREAM_HEADERS_FILE: headers, JWT_ISSUERS_FILE: issuers } = environment;
  const { POLICY_FILE: policy, TRUSTED_DOCUMENTS: documents } = environment;
  return {
    ...Object.fromEntries(shown),
    IDEMPOTENCY_STORE: idempotency.store.split(':')[0],
    UPSTREAM_HEADERS_FILE: headers && { path: headers.path, names: Object.keys(headers.value) },
    TRUSTED_DOCUMENTS: documents?.map(({ path, value: { size } }) => ({ path, size })),
    JWT_ISSUERS_FILE: issuers && {
      path: issuers.path,
      issuers: issuers.value.map(({ keys, ...issuer }) => ({
        ...issuer,
        keys: shownOf(keys) ?? 'discovery',
      })),
    },
    POLICY_FILE: policy && {
      path: policy.path,
      sha256: policy.sha256,
      covers: policy.value.covers,
    },
  };
}

function shownOf(value: unknown): unknown {
  if (value instanceof URL) return value.origin;
  if (value instanceof FileSetting) return value.path;
  if (Array.isArray(value)) return value.map(shownOf);
  return typeof value === 'object' && value !== null ? Object.keys(value) : value;
}
