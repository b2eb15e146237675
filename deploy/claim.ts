/** Prints whether a claim holds. If it does not, prints also what was seen, and the process ends with 1. */
export function check(claim: string, holds: boolean, detail: unknown = ''): void {
  process.stdout.write(
    `${holds ? 'pass' : 'FAIL'}  ${claim}${holds ? '' : ` ${JSON.stringify(detail)}`}\n`,
  );
  if (!holds) process.exitCode = 1;
}
