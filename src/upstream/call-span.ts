import { SpanKind } from '@opentelemetry/api';
import { operations, perOperation } from './operations.ts';

/**
 * The name and the attributes of the spans of an operation, as OpenTelemetry's conventions for HTTP clients name them.
 * The query is left out, because its values are those of the caller.
 */
export function describeCalls(baseUrl: URL) {
  const https = baseUrl.protocol === 'https:';
  return perOperation((name) => {
    const { method } = operations[name];
    const template = baseUrl.pathname + name;
    const attributes = {
      'http.request.method': method,
      'server.address': baseUrl.hostname,
      'server.port': Number(baseUrl.port) || (https ? 443 : 80),
      'url.full': baseUrl.href + name,
      'url.template': template,
    };
    return { name: `${method} ${template}`, options: { kind: SpanKind.CLIENT, attributes } };
  });
}
