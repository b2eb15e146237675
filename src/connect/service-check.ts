import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Config } from '../config/config.ts';
import { printable } from '../lib/short-text.ts';
import type { ReadRequest } from '../upstream/operations.ts';
import { proxyHint, proxyMark } from '../upstream/transport/response-marks.ts';
import { CHECK_MS, codeOf, isUnknownCa, meaningOf } from './network-fault.ts';

type Received = { status: number; headers: IncomingHttpHeaders };

/**
 * Checks whether the service can be reached, by a read without a token, which it normally rejects. Returns the faults, and hints
 * about what seems to respond in its place or to stand before it.
 */
export async function checkService(service: Config['service'], probe: ReadRequest) {
  const { baseUrl } = service;
  try {
    const response = await send(service, probe);
    const fault = faultOfResponse(response, baseUrl, probe);
    const proxy = proxyMark(response.headers);
    const hints = [
      fault === undefined && response.status !== 401 && unusual(response),
      proxy && `A proxy seems to stand before the service (${proxy}). ${proxyHint}`,
    ];
    return {
      faults: fault === undefined ? [] : [`UPSTREAM_BASE_URL ${baseUrl.origin}: ${fault}`],
      hints: hints.filter((hint) => typeof hint === 'string'),
    };
  } catch (error) {
    return { faults: [faultOf(codeOf(error), baseUrl.origin, service)], hints: [] };
  }
}

function unusual({ status, headers }: Received): string {
  const [type] = (headers['content-type'] ?? '').split(';');
  const shown = type ? `${status} (${printable(type)})` : `${status}`;
  return `The service responded with ${shown} to a read without a token, where 401 is usual. If a login page or another program responds there, write the address of the service in UPSTREAM_BASE_URL`;
}

function faultOfResponse(
  { status, headers }: Received,
  baseUrl: URL,
  probe: ReadRequest,
): string | undefined {
  if (status >= 300 && status < 400) {
    const target = URL.parse(headers.location ?? '', baseUrl)?.origin ?? 'another address';
    return `it redirects to ${target}. Write the address to which it redirects`;
  }
  if ([404, 405, 410].includes(status)) {
    return `there is no ${probe.operation.name} below the path ${baseUrl.pathname} (status ${status}). Write the address below which the operations of the service are`;
  }
  if ([502, 503, 504].includes(status)) {
    return `a proxy responds there, but the service does not (status ${status}). Start the service, or write its own address`;
  }
  return undefined;
}

/** Sends the read, and resolves to the status and the headers of the response. */
function send({ baseUrl, tls, headers }: Config['service'], { operation, search }: ReadRequest) {
  const url = new URL(operation.name + search, baseUrl);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(CHECK_MS);
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  // `agent: false` closes the connection after the response.
  request(url, { ...tls, headers, signal, agent: false }, (response) => {
    response.destroy();
    resolve({ status: response.statusCode ?? 0, headers: response.headers });
  })
    .on('error', (error) => reject(signal.aborted ? signal.reason : error))
    .end();
  return promise;
}

function faultOf(code: string, origin: string, { tls }: Config['service']): string {
  if (isUnknownCa(code)) {
    const what = tls.ca ? 'did not issue' : 'is needed, because no public CA issued';
    return `UPSTREAM_TLS_CA_FILE: its CA ${what} the certificate of ${origin}. Name a file with the CA that issued it (${code})`;
  }
  if (/_ALERT_/.test(code)) {
    const isSent = tls.cert ? 'does not accept the certificate' : 'asks for a certificate';
    return `UPSTREAM_TLS_CERT_FILE: ${origin} ${isSent}. Name a file with a certificate that the service accepts (${code})`;
  }
  if (code === 'ECONNRESET' && origin.startsWith('https:')) {
    return `UPSTREAM_BASE_URL ${origin}: it closes the connection. Perhaps it asks for a certificate (UPSTREAM_TLS_CERT_FILE), or does not accept it (${code})`;
  }
  return `UPSTREAM_BASE_URL ${origin}: ${meaningOf(code) ?? 'it cannot be used'} (${code})`;
}
