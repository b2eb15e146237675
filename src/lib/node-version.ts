/** The oldest major version of Node that runs the gateway, as in `engines` of package.json. */
export const OLDEST_NODE = 24;

// This is imported before everything else, so that Node 22.18 to 23 exits here with a clear message, and not at the first
// missing feature. Older versions do not read TypeScript at all.
if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  const found = process.versions.node;
  process.stderr.write(`The gateway needs Node ${OLDEST_NODE} or newer. This is ${found}.\n`);
  process.exit(1);
}
