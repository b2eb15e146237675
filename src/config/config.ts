import type { Issuer } from '../auth/issuer.ts';
import type { JwtConfig } from '../auth/verify.ts';
import { ConfigError } from '../errors/gateway-error.ts';
import type { Operation } from '../upstream/operations.ts';
import type { TlsFiles } from '../upstream/transport/tls-files.ts';
import { type Environment, environmentOf, jointProblems } from './environment.ts';
import type { FileSetting } from './file-setting.ts';
import { withoutQuotes } from './quoted-values.ts';
import { findUnknown, findWithoutEffect, isRead } from './unknown-variables.ts';

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

/**
 * Says that a mutation may take longer than the shutdown waits, if one of these times or the number of writes was set. The writes
 * of a mutation are sent one after another. With the defaults, one write has enough time, and five have not.
 */
function shortShutdownOf(env: Environment, names: readonly string[]) {
  const set = ['UPSTREAM_TIMEOUT_MS', 'MAX_WRITES_PER_OPERATION', 'SHUTDOWN_TIMEOUT_MS'];
  if (!set.some((name) => names.includes(name))) return undefined;
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
  const known = Object.keys(environment.shape);
  const unquoted = withoutQuotes(values, (name) => isRead(name, known));
  const given = Object.fromEntries(
    Object.entries(unquoted.values).filter(([, value]) => value !== ''),
  );
  const { data: env, error } = environment.safeParse(given);
  const names = Object.keys(given);
  const problems = [
    ...unquoted.problems,
    ...(error?.issues ?? []).map(({ path, message }) => `${String(path[0])} ${message}`),
    ...jointProblems(given),
    ...findUnknown(names, known),
  ];
  if (!env || problems.length > 0) {
    throw new ConfigError(['The configuration is invalid:', ...new Set(problems)].join('\n  '));
  }
  return {
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
      storeFile: env.IDEMPOTENCY_STORE_FILE?.path,
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
      withoutEffect: findWithoutEffect(names, known),
      shortShutdown: shortShutdownOf(env, names),
    },
    logLevel: env.LOG_LEVEL,
    /** The files that are read again while the gateway runs. */
    files: {
      issuers: env.JWT_ISSUERS_FILE,
      trustedDocuments: env.TRUSTED_DOCUMENTS,
      policy: env.POLICY_FILE,
    },
  };
}

/**
 * What the log shows of the settings: only what is listed here, because a setting may be secret. Of URLs, only the origin,
 * because a path may be secret, too. (A fault of public keys names their address without its query.) Of files, their paths; of
 * headers, their names; of the policy, its hash and what its rules cover.
 */
export function settingsOf(config: Config) {
  const { http, graphql, service, jwt, idempotency, tracing, files } = config;
  const { ca, cert, key } = service.files.tls;
  const documents = files.trustedDocuments?.map(({ path, value }) => ({ path, size: value.size }));
  return {
    http: {
      ...pick(http, 'port', 'host', 'adminPort', 'forwardHeaders', 'corsOrigins', 'compression'),
      ...pick(http, 'explorer', 'shutdownDelayMs'),
      explorerHeaders: Object.keys(http.explorerHeaders),
    },
    graphql: {
      ...pick(graphql, 'introspection', 'maxWritesPerOperation', 'trustedDocumentsMode'),
      trustedDocuments: documents,
    },
    upstream: {
      ...pick(config, 'readCacheMs'),
      ...config.ledger,
      ...pick(
        service,
        'timeoutMs',
        'keepAliveS',
        'maxResponseBytes',
        'maxConcurrency',
        'uniqueParam',
      ),
      baseUrl: service.baseUrl.origin,
      headers: Object.keys(service.headers),
      headersFile: service.files.headers?.path,
      tls: { ca: ca?.path, cert: cert?.path, key: key?.path },
    },
    policy: files.policy && {
      ...pick(files.policy, 'path', 'sha256'),
      covers: files.policy.value.covers,
    },
    jwt: {
      ...pick(jwt, 'algorithms', 'clockToleranceS', 'types', 'isBindingChecked'),
      issuersFile: files.issuers?.path,
      issuers: jwt.issuers.map((issuer) => ({
        ...pick(issuer, 'issuer', 'audiences', 'audienceClaim', 'algorithms'),
        keys: placeOf(issuer),
      })),
    },
    idempotency: {
      ...pick(idempotency, 'storeFile', 'retentionMs', 'maxKeys', 'quarantineMs', 'isRequired'),
      store: idempotency.store.split(':')[0],
    },
    tracing: {
      ...pick(tracing, 'sampler', 'sampledShare'),
      endpoint: tracing.endpoint?.origin,
    },
    ...pick(config, 'audit', 'shutdownTimeoutMs', 'commit', 'logLevel'),
  };
}

/** Where the keys of an issuer are. */
function placeOf({ keys }: Issuer): string {
  if (keys instanceof URL) return keys.origin;
  return keys?.path ?? 'discovery';
}

/** These properties of a value. */
function pick<Value, Key extends keyof Value>(value: Value, ...keys: Key[]): Pick<Value, Key> {
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<Value, Key>;
}
