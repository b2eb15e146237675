import type { RequestScope } from '../request-scope.ts';
import type { Calls } from './call.ts';
import type { ReadName, WorkflowOperation } from './operations.ts';
import {
  type Approver,
  encodeApprovers,
  encodeCsvUpload,
  type WorkflowCsvUpload,
} from './records.ts';

export type UpstreamClient = ReturnType<typeof createClient>;

/**
 * The service on behalf of one client: a method for reads, and one for each write (docs/service-api.md, section 4). A
 * read throws an UpstreamError if it fails. A write throws one only if it had no effect, and otherwise
 * resolves to the outcome. `responseName` is that of the root field that asks for the write.
 */
export function createClient(calls: Calls, scope: RequestScope) {
  return {
    /** Sends a read with these query parameters. */
    read<Name extends ReadName>(operation: Name, query: Record<string, string>) {
      return calls.read({ operation, search: toSearch(query) }, scope);
    },

    saveApprovers(approvers: Approver[], responseName: string) {
      const body = encodeApprovers(approvers);
      return calls.write({ operation: 'saveApproverList', body, responseName }, scope);
    },

    uploadWorkflowCsv(
      upload: WorkflowCsvUpload,
      option: Record<string, string>,
      responseName: string,
    ) {
      const request = { search: toSearch(option), body: encodeCsvUpload(upload), responseName };
      return calls.write({ operation: 'updateWorkflowCSV', ...request }, scope);
    },

    workflowAction(operation: WorkflowOperation, responseName: string) {
      return calls.write({ operation, responseName }, scope);
    },
  };
}

function toSearch(query: Record<string, string>): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? '' : `?${search}`;
}
