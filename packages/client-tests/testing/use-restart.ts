import { onScopeDispose, shallowRef } from 'vue';
import { restartWrite } from './restart-write.ts';

/** A composable for Vue. */
export function useRestart() {
  const state = shallowRef(restartWrite.getState());
  const unsubscribe = restartWrite.subscribe((next) => {
    state.value = next;
  });
  onScopeDispose(unsubscribe);
  return { ...restartWrite, state };
}
