import type { FastifyRequest } from 'fastify';
import { ledger } from '../src/resolvers/ledger.ts';
import type { Operation as Declared } from '../src/upstream/operations.ts';
import { parseBody } from '../src/upstream/responses.ts';
import type { WireType } from '../src/upstream/wire-types.ts';
import { codesByProject } from './sample-data.ts';
import { type ScenarioName, scenarioName } from './scenarios.ts';
import { differencesOf } from './wire-differences.ts';

/** A request of the service that is no request of its operation. */
export class InvalidRequest extends Error {}

/** An operation of the service (docs/reference/service-api.md, section 4), as `src/upstream/declarations.ts` describes it. */
export type Operation = {
  readonly method: 'GET' | 'POST';
  /** Checks the request and returns what to do, without doing it. Throws an InvalidRequest. */
  parse(request: FastifyRequest): Task;
  /** The response of this operation for a status record that is not a success. */
  refusal(record: object): unknown;
};

type Task = {
  /** A scenario that the request itself selects. */
  readonly scenario?: ScenarioName | undefined;
  /** Performs the operation and returns the response. */
  perform(): unknown;
};

type Values = Readonly<Record<string, unknown>>;
/** What an operation does with a request that is as declared, in place of responding with its sample. */
type Behaviour = (query: Values, body: unknown, sample: Values) => Task;

/** An approver, as received. */
export type Approver = Values;

/** The operations by path. `saved` collects the approvers. */
export function createOperations(saved: Approver[]): ReadonlyMap<string, Operation> {
  const behaviours: Partial<Record<string, Behaviour>> = {
    getGLCodes5,
    saveApproverList: saveApproverList(saved),
    updateWorkflowCSV,
  };
  return new Map(
    ledger.operations.map((one) => [`/${one.name}`, operationOf(one, behaviours[one.name])]),
  );
}

function operationOf(declared: Declared, behaviour: Behaviour | undefined): Operation {
  const { method, parameters, body, response } = declared;
  const sample = Object(parseBody(Buffer.from(declared.sample)));
  const [wire]: readonly WireType[] = response.wire;
  const isList = wire?.properties?.service_status !== undefined;
  return {
    method,
    parse(request) {
      const query = readQuery(request.query, parameters);
      if (body) expectDeclared(body, request.body);
      return behaviour?.(query, request.body, sample) ?? { perform: () => sample };
    },
    // A refused upload is a status record, which is not documented for this operation.
    refusal: (record) => (isList ? { service_status: record, list: [] } : record),
  };
}

/** Throws an InvalidRequest unless a value has what its type declares, and no other fields. */
function expectDeclared(type: WireType, value: unknown): void {
  if (differencesOf(type, value).unknown.size > 0) throw new InvalidRequest();
}

/** Reads the texts of a query as the declared types. Throws an InvalidRequest. */
function readQuery(query: unknown, declared: WireType): Values {
  const values = Object.fromEntries(
    Object.entries(Object(query)).map(([name, text]) => {
      const { type, exact } = declared.properties?.[name] ?? declared.additionalProperties ?? {};
      const types = exact ? ['integer'] : [type].flat();
      const isBoolean = types.includes('boolean') && (text === 'true' || text === 'false');
      const isInteger = types.includes('integer') && /^(0|-?[1-9]\d*)$/.test(String(text));
      return [name, isBoolean || isInteger ? parseBody(Buffer.from(String(text))) : text];
    }),
  );
  expectDeclared(declared, values);
  return values;
}

const SCENARIO_PREFIX = 'scenario:';

const getGLCodes5: Behaviour = ({ project, includeHide }, _body, sample) => {
  const name = String(project);
  const codes = codesByProject.get(name) ?? [];
  const [item] = [sample.list].flat();
  const list = codes
    .filter(({ Hide }) => Hide === 0 || includeHide === true)
    .map((code) => ({ ...Object(item), ...code })); // Other fields are those of the sample.
  const task = { perform: () => ({ ...sample, list }) };
  if (!name.startsWith(SCENARIO_PREFIX)) return task;
  const { data: scenario } = scenarioName.safeParse(name.slice(SCENARIO_PREFIX.length));
  if (!scenario) throw new InvalidRequest();
  return { ...task, scenario };
};

const saveApproverList =
  (saved: Approver[]): Behaviour =>
  (_query, body, sample) => {
    const approvers = [body].flat().map((approver): Approver => Object(approver));
    return {
      perform() {
        for (const approver of approvers) saved.push(approver);
        return { ...sample, message: `Approvers saved: ${approvers.length}.` };
      },
    };
  };

const updateWorkflowCSV: Behaviour = (_query, body) => {
  const { PictureStream }: Values = Object(body);
  const base64 = String(PictureStream ?? '');
  // Decoded and encoded again, since a regular expression may fail on 32 MiB.
  if (Buffer.from(base64, 'base64').toString('base64') !== base64) throw new InvalidRequest();
  return { perform: () => ({ unresolved: unresolvedRows(base64) }) };
};

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
