import { z } from 'zod';
import type { Operation } from '../upstream/operations.ts';
import { pairProblems } from '../upstream/transport/tls-files.ts';
import * as types from './environment-variable.ts';
import { issuersFile } from './issuers-file.ts';

/** The samplers of the OpenTelemetry specification that need no other service. */
const samplers = `always_on always_off traceidratio parentbased_always_on parentbased_always_off
  parentbased_traceidratio`.split(/\s+/);

/** The variables that depend on no operation. */
const variables = z.object({
  PORT: types.integer(0, 65_535).default(4000),
  HOST: types.host.default('0.0.0.0'),
  ADMIN_PORT: types.integer(0, 65_535).optional(),
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
  UPSTREAM_CSV_OPTION_PARAM: types.parameterName.optional(),
  READ_CACHE_S: types.integer(0, 300, 'seconds').default(0),
  FORWARD_HEADERS: types.headerNames.default([]),
  JWT_JWKS_URL: types.url.optional(),
  JWT_JWKS_FILE: types.jwksFile.optional(),
  JWT_ISSUER: types.nonEmptyList.optional(),
  JWT_AUDIENCE: types.nonEmptyList.optional(),
  JWT_ISSUERS_FILE: issuersFile.optional(),
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
  OTEL_TRACES_SAMPLER_ARG: types
    .matching(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
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

/** All variables of a gateway with these operations: their names, and the types that parse them. */
export function environmentOf(operations: readonly Operation[]) {
  const actions = operations.flatMap(({ action }) => action ?? []).sort();
  return variables.extend({
    UPSTREAM_BASE_URL: variables.shape.UPSTREAM_BASE_URL.pipe(types.baseOf(operations)),
    POLICY_FILE: types.policyFile(operations).optional(),
    WORKFLOW_ACTIONS: types.someOf(actions).default(actions),
  });
}

export type Environment = z.infer<ReturnType<typeof environmentOf>>;

/** The problems of variables that do not fit each other. `given` has their texts. */
export function jointProblems(given: Record<string, string | undefined>): string[] {
  const isSet = (...names: string[]) => names.every((name) => given[name] !== undefined);
  const isAnySet = (...names: string[]) => names.some((name) => isSet(name));
  const { JWT_ISSUER = '', PORT = '4000', ADMIN_PORT, UPSTREAM_BASE_URL = '' } = given;
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
    'UPSTREAM_BASE_URL must be https with UPSTREAM_TLS_CA_FILE, _CERT_FILE or _KEY_FILE':
      URL.parse(UPSTREAM_BASE_URL)?.protocol === 'http:' &&
      isAnySet('UPSTREAM_TLS_CA_FILE', 'UPSTREAM_TLS_CERT_FILE', 'UPSTREAM_TLS_KEY_FILE'),
    'UPSTREAM_TLS_CERT_FILE and UPSTREAM_TLS_KEY_FILE are required together':
      isSet('UPSTREAM_TLS_CERT_FILE') !== isSet('UPSTREAM_TLS_KEY_FILE'),
  };
  const found = Object.entries(problems).flatMap(([problem, isFound]) =>
    isFound ? [problem] : [],
  );
  // Others may be invalid, so these are read alone.
  const { data: tls } = variables
    .pick({ UPSTREAM_TLS_CERT_FILE: true, UPSTREAM_TLS_KEY_FILE: true })
    .safeParse(given);
  const [cert, key] = [tls?.UPSTREAM_TLS_CERT_FILE?.value, tls?.UPSTREAM_TLS_KEY_FILE?.value];
  return [...found, ...pairProblems({ cert, key })];
}
