import type { Call, Read } from './calls.ts';
import { OutcomeUnknown, UpstreamError } from './errors.ts';
import type { UpstreamRequest } from './http.ts';
import type { OperationName } from './operations.ts';
import {
  type Approver,
  encode,
  type GlCodeInfoList,
  type GlCodesQuery,
  readGlCodes,
  readStatus,
  readWorkflowCsv,
  type ServiceStatus,
  type WorkflowCsvAnswer,
  type WorkflowCsvUpload,
} from './wire.ts';

/** The six operations of section 4.4: no parameter, no body, and a change of state behind a GET. */
export type WorkflowOperation = Exclude<
  OperationName,
  'getGLCodes5' | 'saveApproverList' | 'updateWorkflowCSV'
>;

/**
 * The service, as one caller sees it: one method per operation (section 4). Reads throw an
 * UpstreamError where there is no answer. Writes throw one only where nothing was done, and answer
 * OutcomeUnknown where nobody can know.
 */
export type Upstream = {
  glCodes(query: GlCodesQuery): Promise<GlCodeInfoList>;
  saveApprovers(approvers: Approver[]): Promise<ServiceStatus | OutcomeUnknown>;
  uploadWorkflowCsv(
    upload: WorkflowCsvUpload,
    option: Record<string, string>,
  ): Promise<WorkflowCsvAnswer | OutcomeUnknown>;
  workflowAction(operation: WorkflowOperation): Promise<ServiceStatus | OutcomeUnknown>;
};

/** Binds the service to a caller: the token that goes with every call, and the signal of its leaving. */
export function createUpstream(
  call: Call,
  caller: Pick<UpstreamRequest, 'token' | 'requestId' | 'trace'> & { signal: AbortSignal },
): Upstream {
  const { signal, ...known } = caller;
  type Rest = Pick<UpstreamRequest, 'search' | 'body'>;

  const read = <Answer>(operation: OperationName, rest: Rest, reader: Read<Answer>) =>
    call({ operation, ...known, ...rest }, reader, signal);

  const write = <Answer>(operation: OperationName, rest: Rest, reader: Read<Answer>) =>
    read(operation, rest, reader).catch((error: unknown) => {
      if (error instanceof UpstreamError && error.effect === 'possible') {
        return new OutcomeUnknown(error.code);
      }
      throw error;
    });

  return {
    glCodes: (query) =>
      read(
        'getGLCodes5',
        {
          search: toSearch({
            target: String(query.target),
            project: query.project,
            includeHide: String(query.includeHide),
          }),
        },
        (value, size) => readGlCodes(value, size, query),
      ),
    saveApprovers: (approvers) =>
      write('saveApproverList', { body: encode(approvers) }, readStatus),
    uploadWorkflowCsv: (upload, option) =>
      write(
        'updateWorkflowCSV',
        { search: toSearch(option), body: encode(upload) },
        readWorkflowCsv,
      ),
    workflowAction: (operation) => write(operation, {}, readStatus),
  };
}

function toSearch(query: Record<string, string>): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? '' : `?${search}`;
}
