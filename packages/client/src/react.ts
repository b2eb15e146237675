import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import {
  createWrite,
  type Outcome,
  type Write,
  type WriteOptions,
  type WriteState,
} from './write.ts';

const idle = { phase: 'idle' } as const;

/** The write of one button, for a component of React. See `createWrite`. */
export function useWrite<Name extends string, Member extends Outcome, Variables = void>(
  options: WriteOptions<Name, Member, Variables>,
): Omit<Write<Member, Variables>, 'getState' | 'subscribe'> & {
  readonly state: WriteState<Member>;
} {
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  const [write] = useState(() =>
    createWrite<Name, Member, Variables>({
      ...options,
      send: (headers, variables) => latest.current.send(headers, variables),
      ...(options.token && { token: (rejected) => (latest.current.token ?? noToken)(rejected) }),
    }),
  );
  const state = useSyncExternalStore(write.subscribe, write.getState, () => idle);
  return { ...write, state };
}

function noToken(): never {
  throw new Error('There is no token.');
}
