/** Returns a function that creates a value for each key once. */
export function memo<Key extends object, Value>(create: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? create(key);
    known.set(key, value);
    return value;
  };
}
