import { readConfig as read } from '../src/config/config.ts';
import { environmentOf } from '../src/config/environment.ts';
import { ledger } from '../src/resolvers/ledger.ts';

/** The variables of the gateway: their names, and the types that parse them. */
export const variables = environmentOf(ledger.operations).shape;

/** Reads the configuration of the gateway from environment variables. */
export const readConfig = (given: Record<string, string | undefined>) =>
  read(given, ledger.operations);
