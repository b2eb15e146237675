import { ApolloServer } from '@apollo/server';
import { expect, test } from '@jest/globals';
import { parse } from 'graphql';
import { hashOf } from '../../src/graphql/documents.ts';

/*
 * `Documents` finds the document of a request by the end of the key that Apollo Server passes to its store of documents. Apollo
 * Server does not say how it makes this key. Without a document from the store, it would parse the text without our limits.
 */
test('Apollo Server asks its store of documents for a key that ends with the hash of the text, and executes what it gets', async () => {
  const keys: string[] = [];
  const server = new ApolloServer({
    typeDefs: 'type Query { asked: String found: String }',
    resolvers: { Query: { asked: () => 'asked', found: () => 'found' } },
    documentStore: {
      async get(key) {
        keys.push(key);
        return parse('{ found }');
      },
      async set() {},
      async delete() {},
    },
  });
  const query = '{ asked }';
  const { body } = await server.executeOperation({ query });
  await server.stop();
  expect(keys.map((key) => key.slice(-64))).toEqual([hashOf(query)]);
  expect(body).toMatchObject({ kind: 'single', singleResult: { data: { found: 'found' } } });
});
