import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { eventually } from '../testkit/eventually.ts';
import { freePort } from '../testkit/port.ts';

// Those of Debian's packages `xvfb` and `webkit2gtk-driver`.
const displayServer = '/usr/bin/Xvfb';
const driver = '/usr/bin/WebKitWebDriver';

export const isWebKitMissing = !existsSync(displayServer) || !existsSync(driver);

function endAfterTest(child: ChildProcess): void {
  closeAfterTest(async () => {
    const exited = once(child, 'exit');
    if (child.kill()) await exited;
  });
}

/** Starts a display without a screen, which WebKit needs, and returns its name. */
async function startDisplay(): Promise<string> {
  // It chooses a free number, writes it, and closes the stream.
  const server = spawn(displayServer, ['-displayfd', '1', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endAfterTest(server);
  const number = (await text(server.stdout)).trim();
  if (!number) throw new Error('Xvfb did not start.');
  return `:${number}`;
}

/**
 * Starts the driver of WebKit. Returns a function that sends it a command of WebDriver, which is a POST with a body or a DELETE
 * without one, and that returns the value of the response.
 */
async function startDriver(): Promise<(path: string, body?: object) => Promise<unknown>> {
  const port = await freePort();
  // A desktop with Wayland would otherwise show the window.
  const env = { ...process.env, DISPLAY: await startDisplay(), GDK_BACKEND: 'x11' };
  endAfterTest(spawn(driver, [`--port=${port}`], { stdio: 'ignore', env }));
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(`${url}/status`));

  return async (path, body) => {
    const method = body ? 'POST' : 'DELETE';
    const response = await fetch(url + path, { method, body: JSON.stringify(body) });
    const { value } = z.object({ value: z.unknown() }).parse(await response.json());
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(value)}`);
    return value;
  };
}

/**
 * Opens a page in the browser of WebKitGTK, which has the engine of Safari and another HTTP library. It needs five commands of
 * WebDriver, for which a client of npm would bring about twenty packages.
 */
export async function openWebKit() {
  const send = await startDriver();
  const wanted = { acceptInsecureCerts: true, timeouts: { script: null } };
  const { sessionId } = z
    .object({ sessionId: z.string() })
    .parse(await send('/session', { capabilities: { alwaysMatch: wanted } }));
  const session = `/session/${sessionId}`;
  closeAfterTest(() => send(session));

  return {
    goto: (url: string) => send(`${session}/url`, { url }),
    reload: () => send(`${session}/refresh`, {}),
    goBack: () => send(`${session}/back`, {}),
    async evaluate<Argument extends object>(
      run: (argument: Argument) => unknown,
      argument: Argument,
    ): Promise<unknown> {
      // As JSON, because the driver makes `null` of each property that is undefined.
      const script = `return (async (run, argument) => JSON.stringify(await run(argument)))(${run}, arguments[0])`;
      const value = await send(`${session}/execute/sync`, { script, args: [argument] });
      return typeof value === 'string' ? JSON.parse(value) : undefined;
    },
    mouse: {
      async click(x: number, y: number) {
        const actions = [
          { type: 'pointerMove', x, y },
          { type: 'pointerDown', button: 0 },
          { type: 'pointerUp', button: 0 },
        ];
        await send(`${session}/actions`, { actions: [{ type: 'pointer', id: 'mouse', actions }] });
      },
    },
  };
}
