import { rename, writeFile } from 'node:fs/promises';
import { jest } from '@jest/globals';
import type { TokenClaims } from '../../dev/issuer.ts';
import { readFilesOften } from '../../testkit/fast-timeouts.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { type Reply, startService, success } from '../../testkit/service.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';

/** Node's own global object, whose timers the tested modules use. */
declare const native: typeof globalThis;

/** Starts a service, and a gateway with this policy, whose file is read again often. */
export async function startWithPolicy(
  policy: object,
  variables: Record<string, string> = {},
  reply: Reply | undefined = success,
) {
  if (!jest.isMockFunction(native.setInterval)) readFilesOften(); // Once in a test.
  const file = await temporaryFile(JSON.stringify(policy));
  const service = await startService(reply);
  const gateway = await startTestGateway(service, { POLICY_FILE: file, ...variables });
  const { token } = await testIssuer();
  /** Sends an operation with a token of these claims. */
  const send = async (query: string, claims?: TokenClaims, headers: Record<string, string> = {}) =>
    gateway.graphql(query, {}, { authorization: `Bearer ${await token(claims)}`, ...headers });
  return {
    file,
    service,
    gateway,
    send,
    /** The code of the first error, or the outcome of the field `result`. */
    async resultOf(query: string, claims?: TokenClaims, headers?: Record<string, string>) {
      const { data, errors } = await send(query, claims, headers);
      return errors?.[0]?.extensions.code ?? data?.result.__typename;
    },
    /** Replaces the file, and waits until the gateway has noticed it. Returns the line of its log. */
    async replace(changed: object | string) {
      const text = typeof changed === 'string' ? changed : JSON.stringify(changed);
      gateway.logs.length = 0;
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
      return Promise.race([
        gateway.logLine({ msg: 'changed files applied' }),
        gateway.logLine({ msg: 'cannot apply changed files' }),
      ]);
    },
  };
}
