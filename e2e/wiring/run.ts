/** Runs the example of a client in a project of its own, and prints what it says of one mutation. */
const [file = '', url = '', token = '', options = '{}'] = process.argv.slice(2);
const { createRestart } = await import(`./${file}`);
const restart = createRestart(url, { token: () => token, ...JSON.parse(options) });
process.stdout.write(JSON.stringify(await restart()));
