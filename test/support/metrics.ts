import { Metrics } from '../../src/telemetry/metrics.ts';

/** The metrics of a process whose log holds and drops nothing. */
export const createMetrics = () =>
  new Metrics({ version: '', commit: '' }, { dropped: 0, heldBytes: 0 });
