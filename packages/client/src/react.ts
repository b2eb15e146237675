import { useEffect, useMemo, useSyncExternalStore } from 'react';
import {
  createLiveWrite,
  idle,
  type Outcome,
  type Write,
  type WriteData,
  type WriteOptions,
  type WriteState,
} from './write.ts';

/** Creates the write of one button, for a React component. See `createWrite`. */
export function useWrite<
  Name extends string,
  Member extends Outcome,
  Variables = void,
  Data extends WriteData<Name, Member> = WriteData<Name, Member>,
>(
  options: WriteOptions<Name, Member, Variables, Data>,
): Omit<Write<NonNullable<Data[Name]>, Variables>, 'getState' | 'subscribe'> & {
  readonly state: WriteState<NonNullable<Data[Name]>>;
} {
  const { field, name, url } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a write belongs to what its intent is stored by.
  const { live, write } = useMemo(() => {
    const live = { current: options };
    return {
      live,
      write: createLiveWrite<Name, NonNullable<Data[Name]>, Variables>(() => live.current),
    };
  }, [field, name, `${url}`]);
  useEffect(() => {
    live.current = options;
  });
  const state = useSyncExternalStore(write.subscribe, write.getState, () => idle);
  return { ...write, state };
}
