/** The part of React that the package uses. The package does not install React. */
declare module 'react' {
  export function useEffect(effect: () => void): void;
  export function useMemo<Value>(create: () => Value, dependencies: readonly unknown[]): Value;
  export function useSyncExternalStore<State>(
    subscribe: (listener: () => void) => () => void,
    getState: () => State,
    getServerState: () => State,
  ): State;
}
