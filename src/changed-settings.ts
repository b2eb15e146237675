import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import type { Authenticator } from './auth/authenticate.ts';
import type { Config } from './config.ts';
import type { GraphqlServer } from './graphql/graphql-server.ts';
import { watchFiles } from './lib/file-setting.ts';
import type { Transport } from './upstream/transport/got-client.ts';
import { checkPair, createExpiryGauge, type TlsFiles } from './upstream/transport/tls-files.ts';

/** Registers the metric of changed files. Returns a function that sets it for a setting. */
function createAppliedGauge(registry: Registry) {
  const gauge = new Gauge({
    name: 'ledger_gateway_changed_files_applied',
    help: 'Whether the content of the files of a setting is in use: 0 after a fault',
    labelNames: ['setting'],
    registers: [registry],
  });
  return (setting: string) => (isApplied: boolean) => gauge.set({ setting }, Number(isApplied));
}

/** Applies the files of settings when they change. Returns a function that ends it. */
export function watchSettings(
  { files, upstream }: Config,
  parts: {
    transport: Transport;
    graphql: GraphqlServer;
    authenticator: Authenticator;
    registry: Registry;
    log: Logger;
  },
): () => void {
  const { transport, graphql, authenticator, registry, log } = parts;
  const show = createAppliedGauge(registry);
  const showExpiry = createExpiryGauge(registry);
  showExpiry(upstream.tls);
  const useTls = (tls: TlsFiles) => {
    checkPair(tls);
    transport.useTls(tls);
    showExpiry(tls);
  };
  const { tls, headers, keys, trustedDocuments } = files;
  const watches = [
    watchFiles(tls, useTls, log, show('tls')),
    watchFiles(
      { headers },
      (changed) => transport.useHeaders(changed.headers),
      log,
      show('headers'),
    ),
    watchFiles({ keys }, (changed) => authenticator.useKeys(changed.keys), log, show('keys')),
    watchFiles(
      trustedDocuments,
      (changed) => graphql.trust(Object.values(changed)),
      log,
      show('trusted_documents'),
    ),
  ];
  return () => {
    for (const unwatch of watches) unwatch();
  };
}
