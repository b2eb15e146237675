import { type RefObject, useEffect, useRef } from 'react';

/**
 * Moves the focus to the first marked field of a form when `faults` changes, so that the user sees it and a screen
 * reader reads it. For faults that the form finds itself: others have a notice, which takes the focus.
 */
export function useFaultFocus(faults: unknown): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `faults` is when, not what.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faults]);
  return form;
}
