import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  type Approver,
  approver,
  codesQuery,
  csvQuery,
  csvUpload,
  noQuery,
  type ServiceStatus,
} from './records.ts';
import { codesByProject, invoiceIds } from './sample-data.ts';
import { type ScenarioName, scenarioName } from './scenarios.ts';

/** An operation of the service (docs/service-api.md, section 4). */
export type Operation = {
  readonly method: 'GET' | 'POST';
  /** The content types of the response, the preferred one first. */
  readonly contentTypes: readonly [string, ...string[]];
  /** Checks the request and returns what to do, without doing it. Throws a ZodError if it is invalid. */
  parse(request: FastifyRequest): Task;
  /** The response of this operation for a status record that is not a success. */
  refusal(record: ServiceStatus): unknown;
};

type Task = {
  /** A scenario that the request itself selects. */
  readonly scenario?: ScenarioName;
  /** Performs the operation and returns the response. */
  perform(): unknown;
};

/** The operations by path. `saved` collects the approvers. */
export function createOperations(saved: Approver[]): ReadonlyMap<string, Operation> {
  return new Map([
    ['/getGLCodes5', getGLCodes5],
    ['/saveApproverList', saveApproverList(saved)],
    ['/updateWorkflowCSV', updateWorkflowCSV],
    ['/restartWorkflowAndMoveToNext', action('restartWorkflowAndMoveToNext', 'Moved to next.')],
    ['/reStoreGlobalSolution', action('reStoreGlobalSolution', 'Global solution restored.')],
    ['/reStoreSolution', action('reStoreSolution', 'Solution restored.')],
    ['/restartWorkflow2', action('restartWorkflow2', 'Workflow restarted.')],
    ['/updateSolutionGuide', action('updateSolutionGuide', 'Solution guide updated.')],
    ['/upgradeToHQ', action('upgradeToHQ', 'Account upgraded.')],
  ]);
}

const SCENARIO_PREFIX = 'scenario:';

/** docs/service-api.md, section 4.1. */
const getGLCodes5: Operation = {
  method: 'GET',
  contentTypes: ['application/json', 'text/plain', 'text/json'],
  parse({ query }) {
    const { project, includeHide } = codesQuery.parse(query);
    const task = {
      perform: () => ({
        service_status: success('getGLCodes5', ''),
        list: (codesByProject.get(project) ?? []).filter(
          ({ Hide }) => Hide === 0 || includeHide === 'true',
        ),
      }),
    };
    return project.startsWith(SCENARIO_PREFIX)
      ? { ...task, scenario: scenarioName.parse(project.slice(SCENARIO_PREFIX.length)) }
      : task;
  },
  refusal: (record) => ({ service_status: record, list: [] }),
};

/** docs/service-api.md, section 4.2. */
function saveApproverList(saved: Approver[]): Operation {
  return {
    method: 'POST',
    contentTypes: ['application/json'],
    parse({ query, body }) {
      noQuery.parse(query);
      const approvers = z.array(approver).parse(body);
      return {
        perform() {
          for (const approver of approvers) saved.push(approver);
          return success('saveApproverList', `Approvers saved: ${approvers.length}.`);
        },
      };
    },
    refusal: (record) => record,
  };
}

/** docs/service-api.md, section 4.3. A refusal is a status record, which is not documented for this operation. */
const updateWorkflowCSV: Operation = {
  method: 'POST',
  contentTypes: ['application/json'],
  parse({ query, body }) {
    csvQuery.parse(query);
    const { PictureStream } = csvUpload.parse(body);
    return { perform: () => ({ unresolved: unresolvedRows(PictureStream ?? '') }) };
  },
  refusal: (record) => record,
};

/** docs/service-api.md, section 4.4. */
function action(name: keyof typeof invoiceIds, message: string): Operation {
  return {
    method: 'GET',
    contentTypes: ['application/json'],
    parse({ query }) {
      noQuery.parse(query);
      return { perform: () => success(name, message) };
    },
    refusal: (record) => record,
  };
}

function success(name: keyof typeof invoiceIds, message: string): ServiceStatus {
  return { invoice_id: invoiceIds[name], message, status: 0 };
}

/**
 * The rows whose second column is empty. This rule is an invention of the reference service: what makes a
 * row unresolved is not documented. Quoted commas and line breaks are not supported.
 */
function unresolvedRows(base64: string): string {
  return Buffer.from(base64, 'base64')
    .toString('utf8')
    .split(/\r?\n/)
    .filter((row) => row.trim() !== '' && !row.split(',')[1]?.trim())
    .join('\n');
}
