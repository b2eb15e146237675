import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { JSONWebKeySet } from 'jose';
import { createAuthenticator } from '../../src/auth/authenticate.ts';
import type { Issuer } from '../../src/auth/issuer.ts';
import { keySet } from '../../src/auth/key-set.ts';
import type { JwtConfig } from '../../src/auth/verify.ts';
import { GatewayError } from '../../src/errors/gateway-error.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';
import { createMetrics } from './metrics.ts';

type Keys = URL | JSONWebKeySet | undefined;

/** Issuers of these names for `gateway`, with the same keys. */
export function issuersOf(keys: Keys, ...names: string[]): Issuer[] {
  const source = keys instanceof URL || !keys ? keys : { path: 'k', value: keySet.parse(keys) };
  return names.map((issuer) => ({ issuer, audiences: ['gateway'], keys: source }));
}

/** An authenticator for tokens of `issuer` for `gateway`, and its log. */
export function createTestAuthenticator(keys: Keys, changed: Partial<JwtConfig> = {}) {
  const log = createLogRecorder();
  const authenticator = createAuthenticator(
    {
      issuers: issuersOf(keys, 'issuer'),
      algorithms: ['ES256', 'RS256'],
      clockToleranceS: 0,
      types: undefined,
      isBindingChecked: false,
      ...changed,
    },
    log.createLogger(),
    createMetrics(),
  );
  closeAfterTest(authenticator.close);
  const authenticate = async (token: string) =>
    (await authenticator.authenticate(requestWith(token)))?.caller;
  return {
    ...authenticator,
    useKeys: (keys: Keys) => authenticator.useIssuers(issuersOf(keys, 'issuer')),
    authenticateRequest: authenticator.authenticate,
    logs: log.lines,
    logLine: log.line,
    /** The caller of a token. */
    authenticate,
    /** What becomes of a token: `accepted`, or the reason for which it is not. */
    async resultOf(token: string): Promise<string | undefined> {
      try {
        await authenticate(token);
        return 'accepted';
      } catch (error) {
        if (error instanceof GatewayError) return error.rejection?.reason;
        throw error;
      }
    },
  };
}

function requestWith(token: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.headers = { authorization: `Bearer ${token}` };
  return request;
}
