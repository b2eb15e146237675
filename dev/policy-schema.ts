import { policyFileSchema } from '../src/policy/policy-file.ts';

// `npm run policy-schema` writes docs/reference/policy.schema.json.
process.stdout.write(`${JSON.stringify(policyFileSchema(), null, 2)}\n`);
