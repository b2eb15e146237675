import type { Logger } from 'pino';
import type { Authenticator } from './auth/authenticate.ts';
import { type Config, tlsOf } from './config/config.ts';
import type { FileSetting } from './config/file-setting.ts';
import { keyFilesOf } from './config/issuers-file.ts';
import type { GraphqlServer } from './graphql/graphql-server.ts';
import type { Policy } from './policy/policy.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Transport } from './upstream/transport/got-client.ts';
import { expiriesOf, pairProblems } from './upstream/transport/tls-files.ts';

/**
 * Reads the files of settings again every five seconds, and applies those of a setting together when one has changed. If
 * one is not valid, or does not fit the others, that is logged once, and what was applied last remains in use. Returns a
 * function that ends it.
 */
export function watchSettings(
  { environment, jwt }: Pick<Config, 'environment' | 'jwt'>,
  parts: {
    transport: Transport;
    graphql: GraphqlServer;
    authenticator: Authenticator;
    policy: Policy | undefined;
    metrics: Metrics;
    log: Logger;
  },
): () => void {
  const { transport, graphql, authenticator, policy, metrics, log } = parts;
  const applied = new Map<string, boolean>();
  const appliedHelp = 'Whether the content of the files of a setting is in use: 0 after a fault';
  metrics.gauges('changed_files_applied', appliedHelp, ['setting'], () =>
    [...applied].map(([setting, isApplied]) => [{ setting }, Number(isApplied)]),
  );
  const {
    UPSTREAM_HEADERS_FILE: headers,
    JWT_ISSUERS_FILE: issuersFile,
    TRUSTED_DOCUMENTS: trustedDocuments = [],
    POLICY_FILE: policyFile,
  } = environment;
  /** Those that were read last. They are not in use yet if a file of their keys is not valid. */
  let { issuers } = jwt;
  const watch = createWatch(applied, log);
  let certificates = tlsOf(environment);
  const expiryHelp = 'When the certificates of a file expire';
  metrics.gauges('certificate_expiry_timestamp_seconds', expiryHelp, ['file'], () =>
    expiriesOf(certificates),
  );
  const timers = [
    watch(
      'tls',
      () => [
        environment.UPSTREAM_TLS_CA_FILE,
        environment.UPSTREAM_TLS_CERT_FILE,
        environment.UPSTREAM_TLS_KEY_FILE,
      ],
      () => {
        const changed = tlsOf(environment);
        const [problem] = pairProblems(changed);
        if (problem) throw new Error(problem);
        transport.useTls(changed);
        certificates = changed;
      },
    ),
    watch(
      'headers',
      () => [headers],
      () => transport.useHeaders(headers?.value ?? {}),
    ),
    watch(
      'keys',
      () => [issuersFile, ...keyFilesOf(issuers)],
      () => {
        issuers = issuersFile?.value ?? issuers;
        authenticator.useIssuers(issuers);
      },
    ),
    watch(
      'trusted_documents',
      () => trustedDocuments,
      () => graphql.trust(trustedDocuments.map(({ value }) => value)),
    ),
    watch(
      'policy',
      () => [policyFile],
      () => {
        if (policyFile) policy?.use(policyFile.value);
        return { sha256: policyFile?.sha256 };
      },
    ),
  ];
  return () => timers.forEach(clearInterval);
}

/**
 * Returns a function that watches the files of a setting. The files are asked for each time, because they may name others.
 * `applied` gets whether the content of all is in use. What `apply` returns is logged.
 */
function createWatch(applied: Map<string, boolean>, log: Logger) {
  return (
    setting: string,
    filesOf: () => readonly (FileSetting<unknown> | undefined)[],
    apply: () => object | void | Promise<void>,
  ) => {
    const givenNow = () => filesOf().filter((file) => file !== undefined);
    if (givenNow().length === 0) return undefined;
    applied.set(setting, true);
    const readAgain = async () => {
      const given = givenNow();
      const files = given.map(({ path }) => path);
      const changes = await Promise.all(given.map((file) => file.readAgain()));
      if (!changes.includes(true)) return;
      try {
        const details = await apply();
        applied.set(setting, true);
        log.info({ files, ...details }, 'changed files applied');
      } catch (error) {
        applied.set(setting, false);
        const fault = error instanceof Error ? error.message : 'unknown';
        log.warn({ files, fault }, 'cannot apply changed files');
      }
    };
    let reading = Promise.resolve();
    return setInterval(() => {
      reading = reading.then(readAgain);
    }, 5000).unref();
  };
}
