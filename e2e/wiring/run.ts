import { createInterface } from 'node:readline';

/** Runs the example of a client in a project of its own: for each line of input, prints how one write ends. */
const [file = '', url = '', token = '', options = '{}'] = process.argv.slice(2);
const { createRestart } = await import(`./${file}`);
for await (const _ of createInterface({ input: process.stdin })) {
  const write = createRestart({ url, token: () => token, ...JSON.parse(options) });
  const state = await new Promise<{ phase: string; result?: object }>((resolve) => {
    write.subscribe(() => {
      const { phase } = write.getState();
      if (phase !== 'sending' && phase !== 'asking') resolve(write.getState());
    });
    write.submit();
  });
  const kind = state.phase === 'failed' ? 'error' : 'member';
  process.stdout.write(`${JSON.stringify({ kind, ...state, ...state.result })}\n`);
}
