import { constants } from 'node:fs';
import { access, open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { StoreUnavailable } from '@ledger-gateway/at-most-once';
import { checkStore } from '@ledger-gateway/at-most-once/check-store';
import { auditPathOf, cannotOpen } from '../audit/audit-output.ts';
import type { Config } from '../config/config.ts';
import type { ReadRequest } from '../upstream/operations.ts';
import { checkIssuer } from './issuer-check.ts';
import { codeOf, meaningOf } from './network-fault.ts';
import { checkService } from './service-check.ts';

/**
 * Checks whether all that the gateway connects to can be used. Returns faults with remedies, and hints, which are no faults. In
 * Redis, it writes and removes one key that no write has. It changes nothing else.
 */
export async function checkConnections(
  config: Config,
  probe: ReadRequest,
): Promise<{ faults: string[]; hints: string[] }> {
  const { http, service, jwt, environment } = config;
  const ofIssuers = environment.JWT_ISSUERS_FILE
    ? { issuer: 'JWT_ISSUERS_FILE', url: 'jwksUrl' }
    : { issuer: 'JWT_ISSUER', url: 'JWT_JWKS_URL' };
  const ports = [
    checkPort('PORT', http.port, http.host),
    ...(http.adminPort === undefined ? [] : [checkPort('ADMIN_PORT', http.adminPort, http.host)]),
  ];
  const ofServers = [
    checkService(service, probe),
    ...jwt.issuers.map((issuer) => checkIssuer(issuer, ofIssuers, jwt.algorithms)),
  ];
  const others = await Promise.all([
    checkStoreOf(config),
    checkAudit(config.audit.output),
    ...ports,
  ]);
  const found = await Promise.all(ofServers);
  const faults = [...found.flatMap((one) => one.faults), ...others.flat()];
  return { faults: [...new Set(faults)], hints: [...new Set(found.flatMap((one) => one.hints))] };
}

async function checkStoreOf({ idempotency, environment }: Config): Promise<string[]> {
  const variable = environment.IDEMPOTENCY_STORE_FILE
    ? 'IDEMPOTENCY_STORE_FILE'
    : 'IDEMPOTENCY_STORE';
  try {
    await checkStore(idempotency.store);
    return [];
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const meaning = meaningOf(error.code ?? error.reason, 'connection');
    return [`${variable}: ${error.message}${meaning ? `: ${meaning}` : ''}`];
  }
}

/** Checks whether lines can be appended to the file of the audit record, or whether it can be created. Returns the faults. */
async function checkAudit(setting: string): Promise<string[]> {
  const path = auditPathOf(setting);
  if (path === undefined) return [];
  const code = await appendCodeOf(path);
  if (code === undefined) return [];
  const remedy =
    'Write the path of a file to which this process can append, in a folder that exists';
  return [`${cannotOpen(path, code)}. ${remedy}`];
}

/** The code of the error if a file cannot be opened for appending. A file that is missing is not created. */
async function appendCodeOf(path: string): Promise<string | undefined> {
  const { O_APPEND, O_RDWR, W_OK, X_OK } = constants;
  try {
    await (await open(path, O_RDWR | O_APPEND)).close();
    return undefined;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return codeOf(error);
    return access(dirname(path), W_OK | X_OK).then(() => undefined, codeOf);
  }
}

/** Checks whether this process could listen on a port, and closes it again. Returns the faults. */
async function checkPort(variable: string, port: number, host: string): Promise<string[]> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<string[]>();
  server.once('error', (error) => resolve([faultOf(codeOf(error), variable, port, host)]));
  server.listen({ port, host }, () => server.close(() => resolve([])));
  return promise;
}

function faultOf(code: string, variable: string, port: number, host: string): string {
  const meanings: Record<string, string> = {
    EADDRINUSE: `${variable} ${port}: it is in use. Write a free port, or end the process that listens there`,
    EACCES: `${variable} ${port}: this user may not listen there. Write a port from 1024 on`,
    EADDRNOTAVAIL: `HOST ${host}: it is no address of this machine. Write 0.0.0.0, or an address of this machine`,
    ENOTFOUND: `HOST ${host}: the name does not resolve. Write 0.0.0.0, or an address of this machine`,
  };
  return `${meanings[code] ?? `${variable} ${port}: it cannot be used`} (${code})`;
}
