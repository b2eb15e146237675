import { createServer } from 'node:http';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';
import transportHttp from '@graphql-mesh/transport-http';
import { gatewayConfig } from '../examples/federation/hive-gateway.config.ts';
import { composeWithApollo, ledgerSdl } from '../test/federation/composition.ts';

/** Hive Gateway on a port, in front of a gateway at a URL: `node e2e/hive.ts PORT URL`. */
const [, , port, url = ''] = process.argv;
const { supergraphSdl = '', errors } = composeWithApollo([{ name: 'ledger', sdl: ledgerSdl, url }]);
if (errors.length > 0) throw new Error(errors.join('\n'));
const runtime = createGatewayRuntime({
  ...gatewayConfig,
  transports: { http: transportHttp },
  supergraph: supergraphSdl,
});
createServer(runtime).listen(Number(port), '127.0.0.1');
