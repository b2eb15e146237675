import { type Dispatch, type SetStateAction, useEffect, useState } from 'react';

const prefix = 'draft:';

/** A state that survives a reload of the page: what a user enters, and what a write that is open is about. */
export function useDraft<Value>(
  name: string,
  create: () => Value,
): [Value, Dispatch<SetStateAction<Value>>] {
  const item = prefix + name;
  const [value, setValue] = useState<Value>(() => {
    const kept = sessionStorage.getItem(item);
    return kept === null ? create() : JSON.parse(kept);
  });
  useEffect(() => {
    try {
      sessionStorage.setItem(item, JSON.stringify(value));
    } catch {
      // The storage is full: it is lost with the page. An older value would be taken for what was sent.
      sessionStorage.removeItem(item);
    }
  }, [item, value]);
  return [value, setValue];
}

/** Removes what the user has entered. The intents of open writes stay for their owner. */
export function forgetDrafts(): void {
  for (const item of Object.keys(sessionStorage)) {
    if (item.startsWith(prefix)) sessionStorage.removeItem(item);
  }
}
