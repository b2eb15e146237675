export { type Claim, Claims, type Settlement } from './claims.ts';
export { Completeness } from './completeness.ts';
export type { Intent } from './intent.ts';
export { KeyRejected, type KeyRejection } from './key-rejected.ts';
export type { Limiter } from './limiter.ts';
export {
  type IdempotencyStore,
  ReplyLost,
  type StoreLog,
  StoreUnavailable,
  type UnavailableReason,
  type Usage,
} from './store.ts';
export { createStoreWatch, type StoreWatch } from './store-watch.ts';
export { createStore } from './stores/create-store.ts';
