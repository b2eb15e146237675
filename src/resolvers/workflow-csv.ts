import { z } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import type { MutationResolvers, WorkflowCsvInput } from '../generated/resolvers.ts';
import {
  isWorkflowCsvOption,
  operations,
  type WorkflowCsvUpload,
} from '../upstream/declarations.ts';
import { outcomeMember } from './status-member.ts';
import { wellFormed } from './well-formed.ts';

/** Node decodes any text as base64. Only the canonical form is the same after decoding and encoding. */
const isBase64 = (text: string) => Buffer.from(text, 'base64').toString('base64') === text;

export const csvUploadArgs = z.object({
  input: z
    .object({
      csv: wellFormed.nullish(),
      contentBase64: z
        .string()
        .refine(isBase64, 'is not base64 (RFC 4648, section 4, with padding)')
        .nullish(),
      option: z.number().refine(isWorkflowCsvOption, 'is not an option of the service').nullish(),
    })
    .refine(
      ({ csv, contentBase64 }) => (csv ?? contentBase64) != null,
      'must have csv or contentBase64',
    )
    .refine(
      ({ csv, contentBase64 }) => csv == null || contentBase64 == null,
      'must not have both csv and contentBase64',
    ),
});

export const uploadWorkflowCsv: NonNullable<MutationResolvers['uploadWorkflowCsv']> = async (
  _,
  { input },
  { write, csvOptionParam },
  info,
) => {
  const upload = { body: toUpload(input), parameters: toParameters(input, csvOptionParam) };
  return outcomeMember(
    await write(operations.updateWorkflowCSV.encode(upload), info),
    operations.updateWorkflowCSV,
  );
};

/** Converts a file (docs/reference/service-api.md, section 2.5). `service_status` is left out if neither of its fields is given. */
function toUpload(input: WorkflowCsvInput): WorkflowCsvUpload {
  const { fileName, csv, contentBase64, invoiceId, message } = input;
  const hasStatus = invoiceId !== undefined || message !== undefined;
  return {
    PictureName: fileName,
    PictureStream: contentBase64 ?? Buffer.from(csv ?? '', 'utf8').toString('base64'),
    ...(hasStatus && { service_status: { invoice_id: invoiceId, message } }),
  };
}

/**
 * The query of an upload (docs/reference/service-api.md, section 4.3). The service's documentation does not name the parameter
 * for the option, so `name` is configured. Throws `BAD_USER_INPUT`.
 */
function toParameters({ option }: WorkflowCsvInput, name: string | undefined) {
  if (option == null) return {};
  if (name !== undefined) return { [name]: option };
  const message =
    '"input.option" cannot be sent: the name of its query parameter is not configured.';
  const faults = [{ path: ['input', 'option'], message }];
  throw new GatewayError('BAD_USER_INPUT', message, { faults });
}
