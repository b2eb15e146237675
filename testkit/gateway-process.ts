import { environmentFor } from './environment.ts';
import { postTo } from './graphql-operation.ts';
import { testIssuer } from './issuer.ts';
import { createLogRecorder } from './log-recorder.ts';
import { startProcess } from './process.ts';

/**
 * Starts the gateway as in production, in its own process. Global state, such as the trace provider
 * and the default metrics, is separate from that of the tests.
 */
export async function startGatewayProcess(
  service: { url: string },
  variables: Record<string, string> = {},
  nodeOptions: string[] = [],
  main = 'src/main.ts',
) {
  const { token } = await testIssuer();
  const child = startProcess([...nodeOptions, main], {
    env: await environmentFor(service, variables),
  });
  const log = createLogRecorder();
  child.onLine(log.add);
  const [, url = ''] = await child.line(/listening at (http:[^\s"]+)/);
  await fetch(`${url}/livez`); // The process listens shortly before it handles signals.

  return {
    url,
    token: await token(),
    logs: log.lines,
    /** Waits for a log line with these properties, and returns the first one. */
    logLine: log.line,
    /** Everything written to standard output and standard error. */
    output: () => `${child.lines.join('\n')}\n${child.errorText()}`,
    /** Posts a body: a string unchanged, anything else as JSON. The headers may have a token. */
    post: (body: unknown, headers: Record<string, string> = {}) => postTo(url, body, headers),
    signal: child.signal,
    exited: child.exited,
    /** Sends SIGTERM, as an orchestrator does, and returns the exit code. */
    async stop(): Promise<unknown> {
      child.signal('SIGTERM');
      return (await child.exited).code;
    },
  };
}
