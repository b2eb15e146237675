/** Runs a check and prints its result. If it throws, the process exits with 1 in the end. */
export function check(name: string, run: () => void): void {
  try {
    run();
    process.stdout.write(`pass  ${name}\n`);
  } catch (error) {
    process.stdout.write(`FAIL  ${name}: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}

/** Prints that a check needs a program which is missing here. */
export function skip(name: string, reason: string): void {
  process.stdout.write(`skip  ${name}: ${reason}\n`);
}

/** Throws, naming those that only one has, unless both have the same names. */
export function expectSame(names: Iterable<string>, expected: Iterable<string>): void {
  const difference = new Set(names).symmetricDifference(new Set(expected));
  if (difference.size > 0) throw new Error([...difference].join(', '));
}
