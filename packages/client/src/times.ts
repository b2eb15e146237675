/** The times of a write without options, in milliseconds. The kit for tests replaces them by short ones. */
export const times = {
  /** How long one request may take. */
  attemptMs: 20_000,
  /** How long a write is repeated after its first failure. */
  patienceMs: 45_000,
  /** The delay before the first repeat. */
  delayMs: 500,
  /** How long after a write the same write is a double click. */
  doubleClickMs: 500,
};
