import { readConfig as read, variablesOf } from '../src/config/config.ts';
import { ledger } from '../src/resolvers/ledger.ts';

/** The variables of the gateway: their names, and the types that parse them. */
export const variables = variablesOf(ledger.operations);

/** Reads the configuration of the gateway from environment variables. */
export const readConfig = (given: Record<string, string | undefined>) =>
  read(given, ledger.operations);
