import { expect, test } from '@jest/globals';
import { readLogLine } from '../../src/telemetry/log-line.ts';
import { textOfLog } from '../../testkit/log-recorder.ts';

/** A line as the gateway writes it. */
const written = () => textOfLog((log) => log.warn({ requestId: 'request-1', ms: 2 }, 'call'));

test.each([
  ['this version', written()],
  ['version 1.0.0', '{"level":40,"time":1,"requestId":"request-1","ms":2,"msg":"call"}\n'],
])('a line of %s is read, also after a prefix', (_, line) => {
  const read = { level: 40, time: expect.any(Number), msg: 'call', requestId: 'request-1', ms: 2 };
  expect(readLogLine(line)).toEqual(read);
  expect(readLogLine(`[pod/gateway-1] ${line}`)).toEqual(read);
});

test.each(['', 'no JSON', '{"level":40', '{"audit":"sent"}', '[]', 'null'])(
  '%j is no line of the log',
  (text) => {
    expect(readLogLine(text)).toBeUndefined();
  },
);
