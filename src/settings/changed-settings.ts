import type { Logger } from 'pino';
import type { Authenticator } from '../auth/authenticate.ts';
import type { Config } from '../config.ts';
import type { GraphqlServer } from '../graphql/graphql-server.ts';
import { type FileSettings, watchFiles } from '../lib/file-setting.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Transport } from '../upstream/transport/got-client.ts';
import { checkPair, expiriesOf } from '../upstream/transport/tls-files.ts';

/** Applies the files of settings when they change. Returns a function that ends it. */
export function watchSettings(
  { files, upstream }: Config,
  parts: {
    transport: Transport;
    graphql: GraphqlServer;
    authenticator: Authenticator;
    metrics: Metrics;
    log: Logger;
  },
): () => void {
  const { transport, graphql, authenticator, metrics, log } = parts;
  const applied = new Map<string, boolean>();
  const appliedHelp = 'Whether the content of the files of a setting is in use: 0 after a fault';
  metrics.gauges('changed_files_applied', appliedHelp, ['setting'], () =>
    [...applied].map(([setting, isApplied]) => [{ setting }, Number(isApplied)]),
  );
  let { tls } = upstream;
  const expiryHelp = 'When the certificates of a file expire';
  metrics.gauges('certificate_expiry_timestamp_seconds', expiryHelp, ['file'], () =>
    expiriesOf(tls),
  );
  const watch = <Values extends object>(
    setting: string,
    given: FileSettings<Values>,
    apply: (values: Values) => void | Promise<void>,
  ) => watchFiles(given, apply, log, (isApplied) => applied.set(setting, isApplied));
  const { headers, keys, trustedDocuments } = files;
  const watches = [
    watch('tls', files.tls, (changed) => {
      checkPair(changed);
      transport.useTls(changed);
      tls = changed;
    }),
    watch('headers', { headers }, (changed) => transport.useHeaders(changed.headers)),
    watch('keys', { keys }, (changed) => authenticator.useKeys(changed.keys)),
    watch('trusted_documents', trustedDocuments, (changed) =>
      graphql.trust(Object.values(changed)),
    ),
  ];
  return () => {
    for (const unwatch of watches) unwatch();
  };
}
