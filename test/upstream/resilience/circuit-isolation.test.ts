import { expect, test } from '@jest/globals';
import { operations } from '../../../src/upstream/declarations.ts';
import { interpretError } from '../../../src/upstream/error-status.ts';
import { CircuitBreaker } from '../../../src/upstream/resilience/circuit-breaker.ts';
import { UpstreamError, type UpstreamErrorCode } from '../../../src/upstream/upstream-error.ts';
import { stopClock } from '../../support/stopped-clock.ts';

const advance = stopClock();

const PROBE_MS = 500;
const PROBE_OF_CALLER_MS = 4000;
const TIMEOUT_MS = 1000;

const failure = (code: UpstreamErrorCode, details: Partial<UpstreamError>) =>
  new UpstreamError(code, { sent: 'maybe', fault: 'test', ...details });
const unavailable = failure('UPSTREAM_UNAVAILABLE', { transient: true });
const timedOut = failure('UPSTREAM_TIMEOUT', {});
const status503 = failure('UPSTREAM_FAILED', { sent: 'yes', status: 503, transient: true });

/** Makes an attempt, which is the probe if the circuit is open. */
async function attempt<Result>(
  circuit: CircuitBreaker,
  caller: string,
  send: () => Promise<Result>,
  leftMs = TIMEOUT_MS,
): Promise<Result> {
  const deadline = performance.now() + leftMs;
  if (circuit.isOpenFor(caller)) await circuit.admit(caller, deadline);
  const begun = circuit.begin(deadline);
  const sent = send();
  const end = (error?: unknown) => circuit.end(caller, begun, error);
  await sent.then(() => end(), end);
  return sent;
}

/** A circuit breaker whose attempts are served, or fail with a given error. */
function createCircuit() {
  const circuit = new CircuitBreaker(TIMEOUT_MS, () => {});
  async function read(caller: string, error?: Error, leftMs = TIMEOUT_MS): Promise<string> {
    const send = async () => {
      if (error) throw error;
      return 'served';
    };
    return attempt(circuit, caller, send, leftMs).catch((cause: UpstreamError) => cause.fault);
  }
  return {
    circuit,
    read,
    async times(count: number, caller: string, error?: Error, leftMs?: number): Promise<void> {
      for (let n = 0; n < count; n++) await read(caller, error, leftMs);
    },
    /** Opens the circuit for all callers. */
    async open(): Promise<void> {
      for (const caller of ['ada', 'bob', 'cleo', 'ada', 'bob', 'cleo', 'ada', 'bob', 'cleo']) {
        await read(caller, unavailable);
      }
      expect(circuit.state).toBe('closed');
      await read('ada', unavailable);
      expect(circuit.isOpenFor('dan')).toBe(true);
    },
  };
}

const faults: [string, UpstreamError][] = [
  ['connection faults', unavailable],
  ['timeouts', timedOut],
  ['503', status503],
];

test.each(faults)('%s of three callers open the circuit for all', async (_, error) => {
  const { circuit, read, times } = createCircuit();
  for (const caller of ['ada', 'bob']) await times(10, caller, error);
  expect(await read('cleo', error)).toBe('test');
  expect(circuit.state).toBe('open');
  expect(await read('dan')).toBe('circuit open');
});

test.each(faults)('%s of two callers open the circuit for these only', async (_, error) => {
  const { circuit, read, times } = createCircuit();
  await times(3, 'bob', error);
  await times(10, 'ada', error);
  expect(await read('ada')).toBe('circuit open');
  expect(await read('bob', error)).toBe('test'); // It had a few only.
  await times(6, 'bob', error);
  expect(circuit.state).toBe('open');
  for (const caller of ['ada', 'bob']) expect(await read(caller)).toBe('circuit open');
  // A success shows that the service responds.
  expect(await read('cleo')).toBe('served');
  expect(await read('ada')).toBe('served');
});

test.each([302, 400, 401, 403, 404, 429, 500])(
  'status %d never opens the circuit',
  async (status) => {
    const { circuit, times } = createCircuit();
    const response = { statusCode: status, headers: {}, body: undefined };
    const error = interpretError({ operation: operations.getGLCodes5, search: '' }, response);
    if (!(error instanceof UpstreamError)) throw new Error('no error');
    for (const caller of ['ada', 'bob', 'cleo']) await times(20, caller, error);
    expect(circuit.state).toBe('closed');
  },
);

test('nine faults between two successes do not open the circuit', async () => {
  const { circuit, times } = createCircuit();
  for (let round = 0; round < 3; round++) {
    await times(9, 'ada', unavailable);
    await times(1, 'ada');
  }
  expect(circuit.state).toBe('closed');
});

test('an attempt with less than half of the time does not count', async () => {
  const { circuit, times } = createCircuit();
  await times(20, 'ada', timedOut, TIMEOUT_MS * 0.4);
  await times(9, 'ada', timedOut);
  expect(circuit.state).toBe('closed');
  await times(1, 'ada', timedOut);
  expect(circuit.state).toBe('open');
});

test('callers whose probes fail do not keep another from its probe', async () => {
  const { circuit, read, open } = createCircuit();
  await open();
  advance(PROBE_MS);
  expect(await read('ada', timedOut)).toBe('test');
  expect(await read('dan')).toBe('circuit open');
  advance(PROBE_MS);
  expect(await read('ada', timedOut)).toBe('circuit open');
  expect(await read('bob', timedOut)).toBe('test');
  advance(PROBE_MS);
  for (const caller of ['ada', 'bob']) expect(await read(caller)).toBe('circuit open');
  expect(await read('dan')).toBe('served');
  expect(circuit.state).toBe('closed');
});

test('a caller that is alone probes every four seconds', async () => {
  const { read, times } = createCircuit();
  await times(10, 'ada', unavailable);
  advance(PROBE_MS);
  expect(await read('ada', unavailable)).toBe('test');
  for (let probe = 0; probe < 5; probe++) {
    advance(PROBE_OF_CALLER_MS - 1);
    expect(await read('ada')).toBe('circuit open');
    advance(1);
    expect(await read('ada', unavailable)).toBe('test');
  }
  advance(PROBE_OF_CALLER_MS);
  expect(await read('ada')).toBe('served');
  expect(await read('ada')).toBe('served');
});

test('a probe of a hanging service does not keep others from theirs', async () => {
  const { circuit, read, open } = createCircuit();
  await open();
  advance(PROBE_MS);
  const hanging = Promise.withResolvers<void>();
  const probing = attempt(circuit, 'ada', () => hanging.promise);
  advance(PROBE_MS);
  expect(await read('dan')).toBe('served');
  hanging.reject(timedOut);
  await expect(probing).rejects.toBe(timedOut);
  expect(circuit.state).toBe('closed');
});

test('attempts that started before the circuit opened or closed do not count', async () => {
  const { circuit, read, times } = createCircuit();
  const failed = Promise.withResolvers<void>();
  const served = Promise.withResolvers<void>();
  const start = ({ promise }: typeof failed) =>
    attempt(circuit, 'ada', () => promise).catch(() => {});
  const before = Array.from({ length: 10 }, () => start(failed));
  const successful = start(served);
  await times(10, 'ada', unavailable);
  served.resolve();
  await successful;
  expect(circuit.state).toBe('open');
  advance(PROBE_MS);
  expect(await read('ada')).toBe('served');
  failed.reject(unavailable);
  await Promise.all(before);
  expect(circuit.state).toBe('closed');
});
