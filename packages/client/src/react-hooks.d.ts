/** What the package uses of React, which it does not install. */
declare module 'react' {
  export function useEffect(effect: () => void): void;
  export function useRef<Value>(value: Value): { current: Value };
  export function useState<Value>(create: () => Value): [Value, unknown];
  export function useSyncExternalStore<State>(
    subscribe: (listener: () => void) => () => void,
    getState: () => State,
    getServerState: () => State,
  ): State;
}
