import { z } from 'zod';
import type { Issuer } from '../auth/issuer.ts';
import type { JwtConfig } from '../auth/verify.ts';
import { ConfigError } from '../errors/gateway-error.ts';
import type { Operation } from '../upstream/operations.ts';
import * as types from './environment-variable.ts';
import { withoutQuotes } from './quoted-values.ts';
import { readService, type ServiceConfig, serviceVariables, shownOf } from './service-settings.ts';
import { findUnknown, findWithoutEffect, isRead } from './unknown-variables.ts';

/** The configuration of a gateway, read from the environment by `readConfig`. */
export type Config = ReturnType<typeof readConfig>;

/** The samplers of the OpenTelemetry specification that need no other service. */
const samplers = `always_on always_off traceidratio parentbased_always_on parentbased_always_off
  parentbased_traceidratio`.split(/\s+/);

/** The variables that depend on no operation. */
const environment = z.object({
  PORT: types.integer(0, 65_535).default(4000),
  HOST: types.host.default('0.0.0.0'),
  ADMIN_PORT: types.integer(0, 65_535).optional(),
  UPSTREAM_CSV_OPTION_PARAM: types.parameterName.optional(),
  READ_CACHE_S: types.integer(0, 300, 'seconds').default(0),
  FORWARD_HEADERS: types.headerNames.default([]),
  JWT_JWKS_URL: types.url.optional(),
  JWT_JWKS_FILE: types.jwksFile.optional(),
  JWT_ISSUER: types.nonEmptyList.optional(),
  JWT_AUDIENCE: types.nonEmptyList.optional(),
  JWT_ISSUERS_FILE: types.issuersFile.optional(),
  JWT_ALGORITHMS: types.algorithms.default(['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']),
  JWT_CLOCK_TOLERANCE_S: types.integer(0, 300, 'seconds').default(5),
  JWT_TYP: types.tokenTypes.optional(),
  JWT_CNF: types.oneOf('reject', 'proxy').default('reject'),
  EXPLORER: types.oneOf('sandbox', 'graphiql', 'off').default('off'),
  EXPLORER_HEADERS: types.headers.optional(),
  INTROSPECTION: types.boolean.default(false),
  CORS_ORIGINS: types.list.pipe(z.array(types.origin)).default([]),
  COMPRESSION: types.oneOf('on', 'off').default('on'),
  MAX_WRITES_PER_OPERATION: types.integer(1, 1000).default(5),
  IDEMPOTENCY_STORE: types.store.optional(),
  IDEMPOTENCY_STORE_FILE: types.storeFile.optional(),
  // The least value is longer than a running process may hold a claim.
  IDEMPOTENCY_RETENTION_S: types.integer(3600, 31_536_000, 'seconds').default(86_400),
  IDEMPOTENCY_MAX_KEYS: types.integer(1, 100_000_000).default(100_000),
  IDEMPOTENCY_LOSS_QUARANTINE_S: types.integer(0, 86_400, 'seconds').default(120),
  IDEMPOTENCY_REQUIRED: types.boolean.default(false),
  SHUTDOWN_DELAY_MS: types.integer(0, 600_000, 'milliseconds').default(2000),
  SHUTDOWN_TIMEOUT_MS: types.integer(1, 600_000, 'milliseconds').default(15_000),
  OTEL_SDK_DISABLED: z
    .string()
    .transform((value) => value.toLowerCase() === 'true')
    .default(false),
  OTEL_EXPORTER_OTLP_ENDPOINT: types.url.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: types.url.optional(),
  OTEL_TRACES_SAMPLER: types.oneOf(...samplers).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
    .default('1')
    .transform(Number),
  TRUSTED_DOCUMENTS: types.documentManifests.optional(),
  TRUSTED_DOCUMENTS_MODE: types.oneOf('enforce', 'log').default('enforce'),
  AUDIT: types.audit.default('off'),
  AUDIT_SUBJECT: types.oneOf('hash', 'sub', 'both').default('hash'),
  GIT_COMMIT: z.string().default('unknown'),
  LOG_LEVEL: types
    .oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
    .default('info'),
});

function environmentOf(operations: readonly Operation[]) {
  const actions = operations.flatMap(({ action }) => action ?? []).sort();
  return environment.extend({
    POLICY_FILE: types.policyFile(operations).optional(),
    WORKFLOW_ACTIONS: types.someOf(actions).default(actions),
  });
}

type Environment = z.infer<ReturnType<typeof environmentOf>>;

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

/** The problems of variables that do not fit each other. `given` has their texts. */
function jointProblems(given: Record<string, string | undefined>): string[] {
  const isSet = (...names: string[]) => names.every((name) => given[name] !== undefined);
  const isAnySet = (...names: string[]) => names.some((name) => isSet(name));
  const { JWT_ISSUER = '', PORT = '4000', ADMIN_PORT } = given;
  const hasIssuers = isSet('JWT_ISSUERS_FILE');
  const hasKeys = isAnySet('JWT_JWKS_URL', 'JWT_JWKS_FILE');
  const isDiscoverable = types.list.pipe(z.array(types.url)).safeParse(JWT_ISSUER).success;
  const problems = {
    'JWT_ISSUER is required': !hasIssuers && !isSet('JWT_ISSUER'),
    'JWT_AUDIENCE is required': !hasIssuers && !isSet('JWT_AUDIENCE'),
    'JWT_ISSUERS_FILE replaces JWT_ISSUER, JWT_AUDIENCE, JWT_JWKS_URL and JWT_JWKS_FILE: remove them':
      hasIssuers && (hasKeys || isAnySet('JWT_ISSUER', 'JWT_AUDIENCE')),
    'set JWT_JWKS_URL or JWT_JWKS_FILE, not both': isSet('JWT_JWKS_URL', 'JWT_JWKS_FILE'),
    'set IDEMPOTENCY_STORE or IDEMPOTENCY_STORE_FILE, not both': isSet(
      'IDEMPOTENCY_STORE',
      'IDEMPOTENCY_STORE_FILE',
    ),
    'TRUSTED_DOCUMENTS_MODE requires TRUSTED_DOCUMENTS':
      isSet('TRUSTED_DOCUMENTS_MODE') && !isSet('TRUSTED_DOCUMENTS'),
    'AUDIT_SUBJECT requires AUDIT': isSet('AUDIT_SUBJECT') && !isSet('AUDIT'),
    'ADMIN_PORT must not be PORT': ADMIN_PORT === PORT && PORT !== '0',
    'JWT_ISSUER must be http(s) URLs, unless JWT_JWKS_URL or JWT_JWKS_FILE is set':
      isSet('JWT_ISSUER') && !hasKeys && !isDiscoverable,
  };
  return Object.entries(problems).flatMap(([problem, isFound]) => (isFound ? [problem] : []));
}

/** Says that a mutation may take longer than the shutdown waits, unless it cannot. Its writes are sent one after another. */
function shortShutdownOf(env: Environment, { timeoutMs }: ServiceConfig) {
  const mutationMs = timeoutMs * env.MAX_WRITES_PER_OPERATION;
  const { SHUTDOWN_TIMEOUT_MS: shutdownTimeoutMs } = env;
  return shutdownTimeoutMs > mutationMs ? undefined : { mutationMs, shutdownTimeoutMs };
}

/** All variables of a gateway with these operations: their names, and the types that parse them. */
export function variablesOf(operations: readonly Operation[]): Readonly<Record<string, z.ZodType>> {
  return { ...environmentOf(operations).shape, ...serviceVariables.shape };
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
  const known = Object.keys(variablesOf(operations));
  const unquoted = withoutQuotes(values, (name) => isRead(name, known));
  const given = Object.fromEntries(
    Object.entries(unquoted.values).filter(([, value]) => value !== ''),
  );
  const { data: env, error } = environmentOf(operations).safeParse(given);
  const { service, problems: ofService } = readService(given);
  const names = Object.keys(given);
  const problems = [
    ...unquoted.problems,
    ...(error?.issues ?? []).map(({ path, message }) => `${String(path[0])} ${message}`),
    ...ofService,
    ...jointProblems(given),
    ...findUnknown(names, known),
  ];
  if (!env || !service || problems.length > 0) {
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
    service,
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
      shortShutdown: shortShutdownOf(env, service),
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
 * What the log shows of the configuration: only what is listed here, because a setting may be secret. Of URLs, only the
 * origin, because a path may be secret, too. Of files, their paths; of headers, their names; of the policy, its hash and
 * what its rules cover.
 */
export function settingsOf(config: Config) {
  const { http, graphql, jwt, idempotency, tracing, files } = config;
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
      ...shownOf(config.service),
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
