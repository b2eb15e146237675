import { Counter, Histogram, type Registry } from 'prom-client';
import { type IdempotencyObserver, idempotencyResults } from './observed-store.ts';

/** Registers the metrics of writes with an idempotency key, and of their store. */
export function createIdempotencyObserver(registry: Registry): IdempotencyObserver {
  const registers = [registry];
  const writes = new Counter({
    name: 'ledger_gateway_idempotency_total',
    help: 'Writes with an idempotency key, by result',
    labelNames: ['result'],
    registers,
  });
  for (const result of idempotencyResults) writes.inc({ result }, 0);
  const latency = new Histogram({
    name: 'ledger_gateway_idempotency_store_duration_seconds',
    help: 'Uses of the store of idempotency keys, by operation',
    labelNames: ['operation'],
    buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5],
    registers,
  });
  return {
    settled: (result) => writes.inc({ result }),
    stored: (operation, seconds) => latency.observe({ operation }, seconds),
  };
}
