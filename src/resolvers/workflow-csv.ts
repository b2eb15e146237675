import { z } from 'zod';
import type { MutationResolvers, WorkflowCsvInput } from '../generated/resolvers.ts';
import type { ArgumentCheck } from '../graphql/argument-checks.ts';
import {
  isWorkflowCsvOption,
  operations,
  type WorkflowCsvUpload,
} from '../upstream/declarations.ts';

/** Node decodes any text as base64. Only the canonical form is the same after decoding and encoding. */
const isBase64 = (text: string) => Buffer.from(text, 'base64').toString('base64') === text;

const uploadArgs = (option: z.ZodType) =>
  z.object({
    input: z
      .object({
        csv: z.string().nullish(),
        contentBase64: z
          .string()
          .refine(isBase64, 'is not base64 (RFC 4648, section 4, with padding)')
          .nullish(),
        option: option.nullish(),
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
const withOption = uploadArgs(
  z.number().refine(isWorkflowCsvOption, 'is not an option of the service'),
);
const withoutOption = uploadArgs(
  z.never('cannot be sent: the name of its query parameter is not configured'),
);

/** Checks of arguments that the schema cannot express. Without `csvOptionParam`, an option cannot be sent. */
export const csvUploadArgs: ArgumentCheck = ({ csvOptionParam }) =>
  csvOptionParam === undefined ? withoutOption : withOption;

export const uploadWorkflowCsv: NonNullable<MutationResolvers['uploadWorkflowCsv']> = (
  _,
  { input },
  { write, csvOptionParam },
  info,
) => {
  const { option } = input;
  // The service's documentation does not name the parameter (docs/reference/service-api.md, section 4.3).
  const hasOption = option != null && csvOptionParam !== undefined;
  const parameters = hasOption ? { [csvOptionParam]: option } : {};
  return write(operations.updateWorkflowCSV.encode(parameters, toUpload(input)), info);
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
