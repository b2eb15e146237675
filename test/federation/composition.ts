import { readFileSync } from 'node:fs';
import * as apollo from '@apollo/composition';
import * as theGuild from '@theguild/federation-composition';
import { parse } from 'graphql';

/** A subgraph to compose. */
export type Subgraph = { name: string; sdl: string; url?: string };

/** The result of a composition: a supergraph, or errors. */
export type Composition = {
  supergraphSdl: string | undefined;
  errors: string[];
};

/** The composer behind GraphOS and Rover. */
export function composeWithApollo(subgraphs: Subgraph[]): Composition {
  const { supergraphSdl, errors } = apollo.composeServices(subgraphs.map(toService));
  return { supergraphSdl, errors: (errors ?? []).map(({ message }) => message) };
}

/** The composer behind Hive. */
export function composeWithTheGuild(subgraphs: Subgraph[]): Composition {
  const { supergraphSdl, errors } = theGuild.composeServices(subgraphs.map(toService));
  return { supergraphSdl, errors: (errors ?? []).map(({ message }) => message) };
}

/** The SDL of the gateway, of a subgraph that refers to GL codes, and of one that does so by their id. */
export const ledgerSdl = read('../../schema.graphql');
export const invoicesSdl = read('../../examples/federation/invoices.graphql');
export const budgetsSdl = read('../../examples/federation/budgets.graphql');

function toService({ name, sdl, url }: Subgraph) {
  return { name, typeDefs: parse(sdl), url: url ?? `http://${name}.example/graphql` };
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8');
}
