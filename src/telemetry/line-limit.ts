/** The log lines in a second of requests that anybody can send without much effort. */
const LINES = 1000;

/** Returns a function that tells whether one more such line may be written now. */
export function createLineLimit(): () => boolean {
  let second = 0;
  let lines = 0;
  return () => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) lines = 0;
    second = now;
    lines += 1;
    return lines <= LINES;
  };
}
