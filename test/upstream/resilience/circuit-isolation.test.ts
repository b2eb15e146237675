import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { CircuitBreaker } from '../../../src/upstream/resilience/circuit-breaker.ts';
import { UpstreamError, type UpstreamErrorCode } from '../../../src/upstream/upstream-error.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { read } from '../../support/graphql-operation.ts';
import { success } from '../../support/held-service.ts';
import { testIssuer } from '../../support/issuer.ts';
import { reply, startService } from '../../support/service.ts';

/** The time that the circuit breaker reads. */
let nowMs = 0;

beforeEach(() => {
  nowMs = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** More than the time for which the callers of attempts are remembered. */
const LATER_MS = 11_000;
const PROBE_DUE_MS = 4000;
const TIMEOUT_MS = 1000;

const failure = (code: UpstreamErrorCode, transient = false) =>
  new UpstreamError(code, { sent: 'maybe', fault: 'test', transient });
const unavailable = failure('UPSTREAM_UNAVAILABLE', true);
const timedOut = failure('UPSTREAM_TIMEOUT');
const status500 = failure('UPSTREAM_FAILED');
const status503 = failure('UPSTREAM_FAILED', true);

/** A circuit breaker whose attempts are served, or fail with a given error. */
function createCircuit() {
  const circuit = new CircuitBreaker(TIMEOUT_MS);
  async function read(caller: string, error?: Error, leftMs = TIMEOUT_MS): Promise<string> {
    const send = async () => {
      if (error) throw error;
      return 'served';
    };
    const deadline = performance.now() + leftMs;
    return circuit.read({ caller, deadline, send }).catch((cause: UpstreamError) => cause.fault);
  }
  return {
    circuit,
    read,
    async times(count: number, caller: string, error?: Error, leftMs?: number): Promise<void> {
      for (let n = 0; n < count; n++) await read(caller, error, leftMs);
    },
    /** Opens the circuit for all callers. */
    async open(): Promise<void> {
      for (let n = 0; n < 5; n++) {
        await read('ada', unavailable);
        await read('bob', unavailable);
      }
      expect(circuit.isOpenFor('cleo')).toBe(true);
    },
  };
}

test.each([
  ['connection faults', unavailable],
  ['timeouts', timedOut],
  ['500', status500],
  ['503', status503],
])('%s of two callers open the circuit for all', async (_, error) => {
  const { circuit, read } = createCircuit();
  for (let n = 0; n < 6; n++) {
    await read('ada', error);
    await read('bob', error);
  }
  expect(circuit.state).toBe('open');
  expect(await read('cleo')).toBe('circuit open');
});

test.each([
  ['connection faults', unavailable],
  ['timeouts', timedOut],
  ['500', status500],
  ['503', status503],
])('%s of one caller do not open the circuit while another caller is active', async (_, error) => {
  const { circuit, read, times } = createCircuit();
  for (let second = 0; second < 60; second++) {
    expect(await read('bob')).toBe('served');
    await times(10, 'ada', error);
    nowMs += 1000;
  }
  expect(circuit.state).toBe('closed');
});

test.each([
  ['connection faults', unavailable],
  ['timeouts', timedOut],
  ['503', status503],
])('%s of a caller that is alone open the circuit for that caller only', async (_, error) => {
  const { circuit, read, times } = createCircuit();
  await read('bob');
  nowMs += LATER_MS;
  await times(10, 'ada', error);
  expect(circuit.state).toBe('open');
  expect(await read('ada')).toBe('circuit open');
  expect(await read('bob')).toBe('served');
});

test('500 to one caller never opens the circuit', async () => {
  const { circuit, times } = createCircuit();
  await times(100, 'ada', status500);
  expect(circuit.state).toBe('closed');
});

test('faults of one caller that add up over time do not open the circuit for others', async () => {
  const { read, times } = createCircuit();
  for (let n = 0; n < 20; n++) {
    await times(10, 'ada', unavailable);
    nowMs += LATER_MS;
  }
  expect(await read('bob')).toBe('served');
});

test('a circuit that one caller opened opens for all at the first fault of another', async () => {
  const { read, times } = createCircuit();
  await times(10, 'ada', unavailable);
  expect(await read('bob', unavailable)).toBe('test');
  expect(await read('bob')).toBe('circuit open');
  expect(await read('cleo')).toBe('circuit open');
});

test('a timeout with less than half of the time counts neither as a fault nor as a success', async () => {
  const { circuit, times } = createCircuit();
  await times(20, 'ada', timedOut, TIMEOUT_MS * 0.4);
  expect(circuit.state).toBe('closed');
  await times(9, 'ada', timedOut);
  await times(1, 'ada', timedOut, TIMEOUT_MS * 0.4);
  expect(circuit.state).toBe('closed');
  await times(1, 'ada', timedOut);
  expect(circuit.state).toBe('open');
});

test('a caller whose probe failed leaves the next one to a caller that waits for it', async () => {
  const { circuit, read, open } = createCircuit();
  await open();
  nowMs += PROBE_DUE_MS;
  expect(await read('ada', timedOut)).toBe('test');
  expect(await read('bob')).toBe('circuit open');
  nowMs += PROBE_DUE_MS;
  expect(await read('ada', timedOut)).toBe('circuit open');
  expect(await read('bob')).toBe('served');
  expect(circuit.state).toBe('closed');
});

test('a caller whose probe failed sends the next one if no other caller waits', async () => {
  const { circuit, read, open } = createCircuit();
  await open();
  nowMs += PROBE_DUE_MS;
  await read('ada', timedOut);
  await read('bob');
  nowMs += PROBE_DUE_MS + 1001;
  expect(await read('ada')).toBe('served');
  expect(circuit.state).toBe('closed');
});

test('500 to one caller as probes does not keep the circuit open', async () => {
  const { circuit, read, open } = createCircuit();
  await open();
  nowMs += PROBE_DUE_MS;
  expect(await read('ada', status500)).toBe('test');
  expect(circuit.state).toBe('closed');
  expect(await read('bob')).toBe('served');
});

test('inputs of one caller that the service fails at do not affect another caller', async () => {
  const service = await startService((response, received) =>
    (received.url.includes('bad') ? reply(500) : success)(response, received),
  );
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  const authorization = `Bearer ${await (await testIssuer()).token({ sub: 'bob' })}`;
  for (let n = 0; n < 30; n++) {
    const { errors } = await gateway.graphql(read.replace('north', `bad${n}`));
    expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_FAILED');
    if (n % 3 > 0) continue;
    const other = await gateway.graphql(read, {}, { authorization });
    expect(other.data.result.__typename).toBe('GlCodeList');
  }
});
