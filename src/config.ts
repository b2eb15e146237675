import { readFileSync } from 'node:fs';
import { closest as closestName, distance } from 'fastest-levenshtein';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';

/** The configuration of a gateway, read from the environment by `readConfig`. */
export type Config = ReturnType<typeof readConfig>;

/** The environment is invalid. The message names every invalid or missing variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Asymmetric algorithms only: with a shared secret, every verifier could forge tokens. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
const asymmetric = z.enum(algorithms, `must be a list of ${algorithms.join(', ')}`);

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be an integer from ${min} to ${max}`)
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, `must be an integer from ${min} to ${max}`)
        .max(max, `must be an integer from ${min} to ${max}`),
    );

const boolean = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((value) => value === 'true');

const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

const nonEmptyList = list.pipe(z.array(z.string()).min(1, 'must not be empty'));

const url = z.string().transform((value, context) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    context.addIssue({ code: 'custom', message: 'must be an http(s) URL' });
    return z.NEVER;
  }
  if (parsed.username !== '' || parsed.password !== '') {
    context.addIssue({ code: 'custom', message: 'must not contain credentials' });
    return z.NEVER;
  }
  return parsed;
});

const baseUrl = url
  .refine(({ search, hash }) => search === '' && hash === '', 'must not have a query or a fragment')
  .transform((value) => (value.pathname.endsWith('/') ? value : new URL(`${value.href}/`)));

const origin = z
  .string()
  .refine(
    (value) => !value.includes('*') && URL.canParse(value) && new URL(value).origin === value,
    'must be exact origins such as https://app.example.com, separated by commas',
  );

const jwksFile = z.string().transform((path, context): JSONWebKeySet => {
  try {
    return z
      .object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) })
      .parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    context.addIssue({
      code: 'custom',
      message: 'must be a readable file with a JSON Web Key Set',
    });
    return z.NEVER;
  }
});

const headers = z.string().transform((value, context) => {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(value));
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a JSON object of strings' });
    return z.NEVER;
  }
});

const required = 'is required';

const environment = z.object({
  PORT: integer(0, 65_535).default(4000),
  HOST: z.string().default('0.0.0.0'),
  UPSTREAM_BASE_URL: z.string(required).pipe(baseUrl),
  UPSTREAM_TIMEOUT_MS: integer(1, 600_000).default(10_000),
  UPSTREAM_CSV_OPTION_PARAM: z.string().optional(),
  UPSTREAM_MAX_RESPONSE_BYTES: integer(1, 268_435_456).default(16_777_216),
  UPSTREAM_MAX_CONCURRENCY: integer(1, 65_535).default(256),
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
  MAX_WRITES_PER_OPERATION: integer(1, 1000).default(5),
  IDEMPOTENCY_STORE: z
    .string()
    .regex(
      /^(memory|file:.+|rediss?:\/\/.+)$/,
      'must be memory, file:PATH, redis://… or rediss://…',
    )
    .refine(
      (value) => !value.startsWith('redis') || URL.canParse(value),
      'must be memory, file:PATH, redis://… or rediss://…',
    )
    .default('memory'),
  // Longer than a claim may be held by a live sender.
  IDEMPOTENCY_RETENTION_S: integer(3600, 31_536_000).default(86_400),
  IDEMPOTENCY_MAX_KEYS: integer(1, 100_000_000).default(100_000),
  IDEMPOTENCY_REQUIRED: boolean.default(false),
  SHUTDOWN_DELAY_MS: integer(0, 600_000).default(0),
  SHUTDOWN_TIMEOUT_MS: integer(1, 600_000).default(15_000),
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional(),
  LOG_LEVEL: z
    .enum(
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'must be fatal, error, warn, info, debug, trace or silent',
    )
    .default('info'),
});

/** Whether every issuer of a list is a URL, so that its keys can be found by discovery. */
function isDiscoverable(issuers = ''): boolean {
  return list.parse(issuers).every((issuer) => url.safeParse(issuer).success);
}

const variableNames = Object.keys(environment.shape);
/** The most changed characters that make a name a misspelling of another. */
const MAX_TYPOS = 3;

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
    const isClose = meant.includes('_') && distance(name, meant) <= MAX_TYPOS;
    if (!whole && !(isClose && name.startsWith(prefix))) return [];
    return [`${name} is unknown. Did you mean ${meant}?`];
  });
}

/**
 * Reads the configuration from environment variables; an empty one counts as missing. Durations are in
 * milliseconds unless the name says otherwise, sizes in bytes. Throws a ConfigError with one line for
 * each invalid or missing variable.
 */
export function readConfig(variables: Record<string, string | undefined>) {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const { data: env, error } = environment.safeParse(given);
  const problems = (error?.issues ?? []).map(
    ({ path, message }) => `${String(path[0])} ${message}`,
  );
  if (given.JWT_JWKS_URL !== undefined && given.JWT_JWKS_FILE !== undefined) {
    problems.push('JWT_JWKS_URL and JWT_JWKS_FILE exclude each other');
  }
  const hasKeys = given.JWT_JWKS_URL !== undefined || given.JWT_JWKS_FILE !== undefined;
  if (!hasKeys && !isDiscoverable(given.JWT_ISSUER)) {
    problems.push('JWT_ISSUER must be http(s) URLs, unless JWT_JWKS_URL or JWT_JWKS_FILE is set');
  }
  problems.push(...findMisspelled(Object.keys(given)));
  if (env === undefined || problems.length > 0) {
    throw new ConfigError(['The configuration is invalid:', ...new Set(problems)].join('\n  '));
  }
  return {
    port: env.PORT,
    host: env.HOST,
    upstream: {
      baseUrl: env.UPSTREAM_BASE_URL,
      timeoutMs: env.UPSTREAM_TIMEOUT_MS,
      csvOptionParam: env.UPSTREAM_CSV_OPTION_PARAM,
      maxResponseBytes: env.UPSTREAM_MAX_RESPONSE_BYTES,
      maxConcurrency: env.UPSTREAM_MAX_CONCURRENCY,
    },
    jwt: {
      keys: env.JWT_JWKS_FILE ?? env.JWT_JWKS_URL,
      issuers: env.JWT_ISSUER,
      audiences: env.JWT_AUDIENCE,
      algorithms: env.JWT_ALGORITHMS,
      clockToleranceS: env.JWT_CLOCK_TOLERANCE_S,
    },
    explorer: env.EXPLORER,
    explorerHeaders: env.EXPLORER_HEADERS ?? {},
    introspection: env.INTROSPECTION,
    corsOrigins: env.CORS_ORIGINS,
    maxWritesPerOperation: env.MAX_WRITES_PER_OPERATION,
    idempotency: {
      store: env.IDEMPOTENCY_STORE,
      retentionMs: env.IDEMPOTENCY_RETENTION_S * 1000,
      maxKeys: env.IDEMPOTENCY_MAX_KEYS,
      isRequired: env.IDEMPOTENCY_REQUIRED,
    },
    shutdownDelayMs: env.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: env.SHUTDOWN_TIMEOUT_MS,
    otlpEndpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT,
    logLevel: env.LOG_LEVEL,
  };
}
