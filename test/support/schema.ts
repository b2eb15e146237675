import { createSchema } from '../../src/graphql/schema.ts';
import { ledger } from '../../src/resolvers/ledger.ts';

/** The executable schema of the gateway. */
export const schema = createSchema(ledger);
