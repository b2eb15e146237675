import { expect, test } from '@jest/globals';
import { GraphQLError } from 'graphql';
import { createErrorFormatter } from '../../src/graphql/error-format.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';

test('one cause is logged once, although it is the error of several fields', () => {
  const { lines, createLogger } = createLogRecorder();
  const formatError = createErrorFormatter(createLogger());
  const cause = new Error('a bug');

  for (const path of [['a'], ['b']]) {
    const error = new GraphQLError('a bug', { path, originalError: cause });
    const { extensions } = formatError(error.toJSON(), error);
    expect(extensions).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
  }

  expect(lines).toHaveLength(1);
});
