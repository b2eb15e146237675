import { createInterface } from 'node:readline';

/** Runs the example of a client in a project of its own: prints how a write with the options of each line of input ends. */
const [file = '', url = '', token = ''] = process.argv.slice(2);
const { createRestart } = await import(`./${file}`);
for await (const options of createInterface({ input: process.stdin })) {
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
