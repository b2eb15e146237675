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
