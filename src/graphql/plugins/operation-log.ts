import type { ApolloServerPlugin } from '@apollo/server';
import type { Context } from '../context.ts';

/** The client chooses the name of an operation, of any length. */
const MAX_NAME_LENGTH = 100;

/** Notes the name of the GraphQL operation, or else its type, for the log line of the request. */
export const operationLog: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async didResolveOperation({ operation, contextValue }) {
        const name = operation?.name?.value ?? operation?.operation;
        contextValue.record.operation = name?.slice(0, MAX_NAME_LENGTH);
      },
    };
  },
};
