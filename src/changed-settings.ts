import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Authenticator } from './auth/authenticate.ts';
import type { Config } from './config.ts';
import type { GraphqlServer } from './graphql/graphql-server.ts';
import { watchFiles } from './lib/file-setting.ts';
import type { Transport } from './upstream/transport/got-client.ts';
import { checkPair, createExpiryGauge, type TlsFiles } from './upstream/transport/tls-files.ts';

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
  const showExpiry = createExpiryGauge(registry);
  showExpiry(upstream.tls);
  const useTls = (tls: TlsFiles) => {
    checkPair(tls);
    transport.useTls(tls);
    showExpiry(tls);
  };
  const { tls, headers, keys, trustedDocuments } = files;
  const watches = [
    watchFiles(tls, useTls, log),
    watchFiles({ headers }, (changed) => transport.useHeaders(changed.headers), log),
    watchFiles({ keys }, (changed) => authenticator.useKeys(changed.keys), log),
    watchFiles(trustedDocuments, (changed) => graphql.trust(Object.values(changed)), log),
  ];
  return () => {
    for (const unwatch of watches) unwatch();
  };
}
