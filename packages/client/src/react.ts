import { useEffect, useMemo, useSyncExternalStore } from 'react';
import {
  createLiveWrite,
  idle,
  type Outcome,
  type Write,
  type WriteOptions,
  type WriteState,
} from './write.ts';

/** Creates the write of one button, for a React component. See `createWrite`. */
export function useWrite<Name extends string, Member extends Outcome, Variables = void>(
  options: WriteOptions<Name, Member, Variables>,
): Omit<Write<Member, Variables>, 'getState' | 'subscribe'> & {
  readonly state: WriteState<Member>;
} {
  const { field, name = field, url } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a write belongs to what its intent is stored by.
  const { live, write } = useMemo(() => {
    const live = { current: options };
    return { live, write: createLiveWrite<Name, Member, Variables>(() => live.current) };
  }, [field, name, `${url}`]);
  useEffect(() => {
    live.current = options;
  });
  const state = useSyncExternalStore(write.subscribe, write.getState, () => idle);
  return { ...write, state };
}
