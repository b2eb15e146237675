export type { LedgerFetchOptions, Progress } from './attempts.ts';
export type { Fault, FieldResult, LedgerError, LedgerErrorCode } from './field-result.ts';
export { readField } from './field-result.ts';
export { type Intent, newIntent, withIntent } from './intent.ts';
export { createLedgerFetch } from './ledger-fetch.ts';
export { type SettleOptions, settle, settleDocument } from './settle.ts';
