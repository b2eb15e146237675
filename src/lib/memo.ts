/** Returns a function that creates a value for each key once. */
export function memo<Key extends object, Value>(create: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? create(key);
    known.set(key, value);
    return value;
  };
}

/** Remembers the value of the latest text alone. Most clients send the same headers with each request. */
export function memoLatest<Value>(create: (text: string) => Value): (text: string) => Value {
  let latest: { text: string; value: Value } | undefined;
  return (text) => {
    if (latest?.text !== text) latest = { text, value: create(text) };
    return latest.value;
  };
}
