import { z } from 'zod';

/*
 * The lines of the audit record (docs/reference/audit-record.md). They are public: within a major version, fields are only
 * added. `npm run audit-schema` writes docs/reference/audit-line.schema.json from here.
 */

const text = (description: string) => z.string().describe(description);
const optionalText = (description: string) => z.string().optional().describe(description);
const integer = (description: string) => z.number().int().describe(description);
const sha256 = z.string().regex(/^[\da-f]{64}$/);

const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .describe('When the line was written, in UTC');

/** What both lines of a write say. */
const write = {
  time,
  writeId: text('The same in both lines of a write, and in no others'),
  requestId: text('The `X-Request-Id` of the response. A client may choose it'),
  trace_id: z
    .string()
    .regex(/^[\da-f]{32}$/)
    .optional()
    .describe('The trace of the request (W3C Trace Context)'),
  iss: text('The claim `iss` of the verified token'),
  sub: z
    .string()
    .nullable()
    .optional()
    .describe('The claim `sub`; null if the token has none. Missing with AUDIT_SUBJECT=hash'),
  caller: optionalText(
    'A hash of `iss` and `sub`, or of a token without `sub`: `caller` in the log. Missing with AUDIT_SUBJECT=sub, unless the token has no `sub`',
  ),
  azp: optionalText(
    'The application of the token: the first of `azp`, `client_id`, `cid`, `appid`',
  ),
  field: text('The field of the schema, such as `workflowAction`'),
  action: optionalText('The value of `WorkflowAction`, such as `UPGRADE_TO_HQ`'),
  operation: text('The operation of the service, such as `upgradeToHQ`'),
  responseName: text(
    'The response name of the field: its alias, if it has one. From a router that drops aliases, the header `Idempotency-Response-Name`',
  ),
  claim: optionalText(
    'A hash of caller and idempotency key: `claim` in the log. Missing without a key',
  ),
  ids: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe('The identifiers in the request, by the names of their fields in the service'),
  omittedIds: z
    .number()
    .int()
    .optional()
    .describe('How many identifiers are left out of a very long list'),
  files: z
    .array(z.object({ name: z.string(), sha256, bytes: z.number().int() }))
    .optional()
    .describe('The files in the request, with the SHA-256 and the length of their content'),
};

const sent = z
  .object({ audit: z.literal('sent'), ...write })
  .describe('A write that is about to be sent to the service');

const outcome = z
  .object({
    audit: z.literal('outcome'),
    ...write,
    outcome: z
      .string()
      .nullable()
      .describe(
        'The member of the union in the response. `LedgerOutcomeUnknown`: nobody knows whether the write took effect. Null: it is an error. With the code `INTERNAL_SERVER_ERROR`, a write that was sent may have taken effect. With any other code, this request changed nothing',
      ),
    invoiceId: optionalText(
      'The invoice that the service names in its response, if it is a number',
    ),
    code: optionalText('The code of the error, or the one that says why the outcome is unknown'),
    replay: z
      .boolean()
      .describe('Whether it is the outcome of an earlier request with the same idempotency key'),
    ms: integer('Milliseconds since the write was accepted'),
  })
  .describe('What became of a write');

const dropped = z
  .object({
    audit: z.literal('dropped'),
    time,
    lines: integer('How many lines are missing before this one'),
  })
  .describe('Lines are missing, because the file did not accept them');

export const auditLine = z.discriminatedUnion('audit', [sent, outcome, dropped]);

export type AuditLine = z.infer<typeof auditLine>;
/** What both lines of a write say, without their time. */
export type AuditedRequest = Omit<z.infer<typeof sent>, 'audit' | 'time'>;
/** What becomes of a write. */
export type AuditedOutcome = Pick<z.infer<typeof outcome>, 'outcome' | 'invoiceId' | 'code'>;

/** The JSON Schema of a line. Readers must accept further fields. */
export function auditLineSchema(): object {
  return z.toJSONSchema(auditLine, { io: 'input' });
}
