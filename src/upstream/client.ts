import type { RequestScope } from '../request-scope.ts';
import type { Calls } from './call.ts';
import {
  type Body,
  operations,
  type Parameters,
  type ReadName,
  type WriteName,
} from './operations.ts';

export type UpstreamClient = ReturnType<typeof createClient>;

/**
 * The input of a write. `parameters` may be left out if all of them are optional, and `body` if there is none. If the name is one
 * of several, this must be so for each of them.
 */
type Input<Name extends WriteName> = (false extends {
  [One in Name]: object extends Parameters<One> ? true : false;
}[Name]
  ? { parameters: Parameters<Name> }
  : { parameters?: Parameters<Name> }) &
  (false extends { [One in Name]: undefined extends Body<One> ? true : false }[Name]
    ? { body: Body<Name> }
    : { body?: undefined });

/**
 * The service on behalf of one client (docs/reference/service-api.md, section 4). A read throws an UpstreamError if it fails. A
 * write throws one only if it had no effect, and otherwise resolves to the outcome.
 */
export function createClient(calls: Calls, scope: RequestScope) {
  return {
    /** Sends a read. */
    read<Name extends ReadName>(operation: Name, parameters: Parameters<Name>) {
      return calls.read({ operation, search: operations[operation].toSearch(parameters) }, scope);
    },

    /** Sends a write for the root field with this response name. */
    write<Name extends WriteName>(operation: Name, responseName: string, input: Input<Name>) {
      const { toSearch, toBody, targetsOf } = operations[operation];
      const search = toSearch(input.parameters);
      const body = toBody(input.body);
      const targets = () => targetsOf(input.parameters, input.body);
      return calls.write({ operation, search, body, responseName, targets }, scope);
    },
  };
}
