import DataLoader from 'dataloader';
import Type from 'typebox';
import { Compile } from 'typebox/schema';
import { Pool } from 'undici';
import { call, observed, type Scope, type Transport } from './duties.ts';
import {
  type ActionArgs,
  actionPath,
  codesPath,
  type GlCodesArgs,
  toAction,
  toGlCodes,
  typeOfAction,
  typeOfGlCodes,
} from './schema.ts';

/* What the dressed peers share: calls by undici with all duties, and records that are checked. */

const code = Type.Object({
  ...{ Code: Type.String(), Name: Type.String(), Value: Type.String(), Hide: Type.Integer() },
});
const status = Type.Object({
  ...{ invoice_id: Type.Number(), message: Type.String(), status: Type.Integer() },
});
const statusOf = Compile(status);
const listOf = Compile(
  Type.Object({ service_status: status, list: Type.Union([Type.Array(code), Type.Null()]) }),
);

const baseUrl = new URL(process.env.UPSTREAM_BASE_URL ?? '');
const pool = new Pool(baseUrl.origin);
const send: Transport = async ({ path, headers, signal }) => {
  const request = { method: 'GET', path: baseUrl.pathname + path, headers, signal } as const;
  const { statusCode, body } = await pool.request(request);
  return { status: statusCode, body: body.json() };
};

/** The two root fields for one request, with the arguments, and the response name under which the result is logged. */
export function createFields(scope: Scope) {
  const codes = new DataLoader(
    (all: readonly GlCodesArgs[]) =>
      Promise.all(
        all.map(async (args) => {
          const list = await call('getGLCodes5', codesPath(args), false, scope, send);
          return toGlCodes(listOf.Parse(list), args);
        }),
      ),
    { cacheKeyFn: codesPath },
  );
  return {
    glCodes: (args: GlCodesArgs, key: string | number) =>
      observed('Query.glCodes', key, scope, typeOfGlCodes, () => codes.load(args)),
    workflowAction: (args: ActionArgs, key: string | number) =>
      observed('Mutation.workflowAction', key, scope, typeOfAction, async () => {
        const operation = actionPath(args);
        const reply = await call(operation, operation, true, scope, send);
        return toAction(statusOf.Parse(reply), args);
      }),
  };
}
export type Fields = ReturnType<typeof createFields>;
