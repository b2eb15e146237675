/** What the package uses of React, which it does not install. */
declare module 'react' {
  export function useEffect(effect: () => void): void;
  export function useMemo<Value>(create: () => Value, dependencies: readonly unknown[]): Value;
  export function useSyncExternalStore<State>(
    subscribe: (listener: () => void) => () => void,
    getState: () => State,
    getServerState: () => State,
  ): State;
}
