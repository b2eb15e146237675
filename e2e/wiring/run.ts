import { createInterface } from 'node:readline';

/** Runs the example of a client in a project of its own: for each line of input, prints what it says of one mutation. */
const [file = '', url = '', token = '', options = '{}'] = process.argv.slice(2);
const { createRestart } = await import(`./${file}`);
for await (const _ of createInterface({ input: process.stdin })) {
  const restart = createRestart(url, { token: () => token, ...JSON.parse(options) });
  process.stdout.write(`${JSON.stringify(await restart())}\n`);
}
