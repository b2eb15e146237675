/**
 * Servers that are written in JavaScript read variables into JavaScript numbers, and many send an `ID` on as a text. So an integer
 * beyond 2^53 − 1 could arrive at the ledger as the one beside it, which is the id of somebody else. Returns the error for variables
 * that have such an integer, before any of them is used. See docs/how-to/federation.md, "Numbers".
 */
export function roundingErrorOf(variables: unknown) {
  let isRounded = false;
  JSON.stringify(variables, (_, value: unknown) => {
    isRounded ||= Number.isInteger(value) && !Number.isSafeInteger(value);
    return value;
  });
  if (!isRounded) return undefined;
  const message =
    'A variable has an integer beyond ±9007199254740991, which may have been rounded. Send an ID as a text. Other numbers must be smaller.';
  return { message, extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } } };
}
