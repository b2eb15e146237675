import { expect, test } from '@jest/globals';
import { createLogger } from '../../src/telemetry/log.ts';
import { readLogLine } from '../../src/telemetry/log-line.ts';

/** A line as the gateway writes it. */
function written(): string {
  const lines: string[] = [];
  const output = { write: (line: string) => void lines.push(line), writeNow: () => undefined };
  createLogger('info', output).warn({ requestId: 'request-1', ms: 2 }, 'call');
  return lines.join('');
}

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
