/** Returns a function that creates a value for each key once. */
export function memo<Key extends object, Value>(create: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? create(key);
    known.set(key, value);
    return value;
  };
}

/** The same for texts, of which only the value of the latest is kept: most clients send the same headers with each request. */
export function memoLatest<Value>(create: (text: string) => Value): (text: string) => Value {
  let latest: { text: string; value: Value } | undefined;
  return (text) => {
    if (latest?.text !== text) latest = { text, value: create(text) };
    return latest.value;
  };
}
