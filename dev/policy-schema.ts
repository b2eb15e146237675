import { policyFileSchema } from '../src/policy/policy-file.ts';
import { ledger } from '../src/resolvers/ledger.ts';

// `npm run policy-schema` writes docs/reference/policy.schema.json.
process.stdout.write(`${JSON.stringify(policyFileSchema(ledger.operations), null, 2)}\n`);
