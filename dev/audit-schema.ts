import { auditLineSchema } from '../src/audit/audit-line.ts';

// `npm run audit-schema` writes docs/reference/audit-line.schema.json.
process.stdout.write(`${JSON.stringify(auditLineSchema(), null, 2)}\n`);
