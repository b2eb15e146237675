import { readFileSync } from 'node:fs';
import * as apollo from '@apollo/composition';
import * as theGuild from '@theguild/federation-composition';
import * as cosmo from '@wundergraph/composition';
import { parse, print } from 'graphql';

/** A subgraph to compose. */
export type Subgraph = { name: string; sdl: string; url?: string };

/** Composes a supergraph, or returns errors, as GraphOS and Rover do. */
export function composeWithApollo(subgraphs: Subgraph[]) {
  const { supergraphSdl, errors } = apollo.composeServices(subgraphs.map(toService));
  return { supergraphSdl, errors: (errors ?? []).map(({ message }) => message) };
}

/** Does the same as Hive does. */
export function composeWithTheGuild(subgraphs: Subgraph[]) {
  const { supergraphSdl, errors } = theGuild.composeServices(subgraphs.map(toService));
  return { supergraphSdl, errors: (errors ?? []).map(({ message }) => message) };
}

/** Does the same as `wgc router compose` does. With a tag, composes the contract that includes only this tag. */
export function composeWithCosmo(subgraphs: Subgraph[], tag?: string) {
  const options = {
    version: cosmo.LATEST_ROUTER_COMPATIBILITY_VERSION,
    subgraphs: subgraphs.map(toService).map(({ name, url, typeDefs: definitions }) => ({
      name,
      url,
      definitions,
    })),
  };
  const tags = { tagNamesToExclude: new Set<string>(), tagNamesToInclude: new Set([`${tag}`]) };
  const result =
    tag === undefined
      ? cosmo.federateSubgraphs(options)
      : cosmo.federateSubgraphsContract({ ...options, contractTagOptions: tags });
  return {
    supergraphSdl: result.success ? print(result.federatedGraphAST) : undefined,
    errors: result.success ? [] : result.errors.map(({ message }) => message),
  };
}

/** The SDL of the gateway, of a subgraph that refers to GL codes, and of one that does so by their id. */
export const ledgerSdl = read('../../schema.graphql');
export const tripsSdl = read('../../examples/federation/trips.graphql');
export const budgetsSdl = read('../../examples/federation/budgets.graphql');
export const exampleDirectives = read('../../examples/federation/directives.json');

function toService({ name, sdl, url }: Subgraph) {
  return { name, typeDefs: parse(sdl), url: url ?? `http://${name}.example/graphql` };
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8');
}
