import { z } from 'zod';

/** The records and queries of the service (docs/service-api.md, sections 2 and 4). */

/** docs/service-api.md, section 2.1. */
export type ServiceStatus = {
  readonly invoice_id: bigint;
  readonly message: string;
  readonly status: number;
};

// What a request may contain. No field is documented as required, so each may be missing or null.

const integer = z.union([z.int(), z.bigint()]);

export const approver = z.strictObject({
  approver_id: integer.nullish(),
  claim_limit: z.union([z.number(), z.bigint()]).nullish(),
  description: z.string().nullish(),
  email: z.string().nullish(),
  email_upload: z.string().nullish(),
  is_disable_approval: z.boolean().nullish(),
  is_expense_claim: z.boolean().nullish(),
  my_bank_account: z.string().nullish(),
  my_email: z.string().nullish(),
  name: z.string().nullish(),
  workflow_id: integer.nullish(),
  workflow_name: z.string().nullish(),
});

/** docs/service-api.md, section 2.4, as received. An integer beyond 2^53 is a bigint. */
export type Approver = z.infer<typeof approver>;

/** docs/service-api.md, section 2.5. */
export const csvUpload = z.strictObject({
  PictureName: z.string().nullish(),
  // Decoded and encoded again, since a regular expression may fail on 32 MiB.
  PictureStream: z
    .string()
    .refine((text) => Buffer.from(text, 'base64').toString('base64') === text)
    .nullish(),
  service_status: z
    .strictObject({ invoice_id: integer.nullish(), message: z.string().nullish() })
    .nullish(),
});

/** docs/service-api.md, section 4.1. */
export const codesQuery = z.strictObject({
  target: integerText([[0, 12], [20, 24], [26, 27], [33, 51], 4001, -1]),
  project: z.string(),
  includeHide: z.enum(['true', 'false']),
});

/** docs/service-api.md, section 4.3. The name of the parameter is not documented, so one parameter of any name is accepted. */
export const csvQuery = z
  .record(
    z.string(),
    integerText([
      [1, 27],
      30,
      31,
      99,
      [101, 160],
      [208, 360],
      [369, 421],
      [423, 454],
      [461, 500],
      [-6, -1],
    ]),
  )
  .refine((query) => Object.keys(query).length <= 1);

export const noQuery = z.strictObject({});

/** The decimal text of one of these integers. A pair is a range that includes both ends. */
function integerText(allowed: readonly (number | readonly [number, number])[]) {
  const texts = allowed.flatMap((entry) => {
    const [first, last] = typeof entry === 'number' ? [entry, entry] : entry;
    return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
  });
  return z.enum(texts);
}
