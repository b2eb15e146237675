import { expect, test } from '@jest/globals';
import { GraphQLError } from 'graphql';
import { pino } from 'pino';
import { createErrorFormatter } from '../../src/graphql/error-format.ts';

test('one cause is logged once, although it is the error of several fields', () => {
  const lines: string[] = [];
  const formatError = createErrorFormatter(pino({}, { write: (line) => void lines.push(line) }));
  const cause = new Error('a bug');

  for (const path of [['a'], ['b']]) {
    const error = new GraphQLError('a bug', { path, originalError: cause });
    const { extensions } = formatError(error.toJSON(), error);
    expect(extensions).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
  }

  expect(lines).toHaveLength(1);
});
