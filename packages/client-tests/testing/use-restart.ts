import { onScopeDispose, shallowRef } from 'vue';
import { restart } from './restart.ts';

/** A composable for Vue. */
export function useRestart() {
  const state = shallowRef(restart.getState());
  const unsubscribe = restart.subscribe((next) => {
    state.value = next;
  });
  onScopeDispose(unsubscribe);
  return { ...restart, state };
}
