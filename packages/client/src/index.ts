export type { LedgerFetchOptions } from './attempts.ts';
export type {
  AnyResult,
  Fault,
  FieldResult,
  LedgerError,
  LedgerErrorCode,
} from './field-result.ts';
export { readField } from './field-result.ts';
export { type Intent, type Progress, withIntent } from './intent.ts';
export { cancel, newIntent } from './known-intent.ts';
export { createLedgerFetch } from './ledger-fetch.ts';
export type { GraphqlBody, GraphqlError } from './response.ts';
export { type RetryOptions, retryQueries } from './retry-queries.ts';
export { type SettledResult, type SettleOptions, settle } from './settle.ts';
export { settleDocument } from './settle-document.ts';
export type { GetToken } from './token.ts';
export {
  createWrite,
  isLocked,
  type Outcome,
  type Write,
  type WriteData,
  type WriteOptions,
  type WriteResult,
  type WriteState,
  type WriteStorage,
} from './write.ts';
