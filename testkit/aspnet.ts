import { type Reply, reply } from './service.ts';

/*
 * A service written with ASP.NET Core 10: controllers with [ApiController], Kestrel and JwtBearer with their defaults. Its responses
 * are as a real one sent them on 2026-11-28 (docs/how-to/behind-asp-net-core.md).
 */

/** Options of JsonSerializerOptions that change the records on the wire. By default, the names are as documented. */
export type AspNetSettings = {
  /** PropertyNamingPolicy. `camelCase` is the default of ASP.NET Core. */
  readonly naming?: 'documented' | 'camelCase';
  /** Converters.Add(new JsonStringEnumConverter()) */
  readonly enumsAsText?: boolean;
  /** NumberHandling = WriteAsString */
  readonly numbersAsText?: boolean;
  /** DefaultIgnoreCondition */
  readonly ignore?: 'WhenWritingNull' | 'WhenWritingDefault';
};

const labels = ['OK', 'FAILED', 'NO_MORE_INVOICES', 'NOT_PERMITTED'];
const jsonType = 'application/json; charset=utf-8';
const problemType = 'application/problem+json; charset=utf-8';
/** The longest request line that Kestrel reads, in bytes. */
const MAX_REQUEST_LINE = 8192;
/** `int` of C#. */
const MAX_INT32 = 2 ** 31 - 1;

/** A service whose operations succeed, unless the request is one that ASP.NET Core rejects by itself. */
export function aspNet(settings: AspNetSettings = {}): Reply {
  const status = settings.enumsAsText ? labels[0] : 0;
  const record = { invoice_id: 48214, message: 'Saved.', status };
  const codes = [{ Code: '4010', Name: 'Raw materials', Value: null, Hide: 0 }];
  return (response, received) => {
    const { pathname, searchParams } = new URL(received.url, 'http://service');
    const line = `${received.method} ${received.url} HTTP/1.1\r\n`;
    if (line.length > MAX_REQUEST_LINE) return aspNetAnswers.tooLongUrl(response, received);
    const errors =
      pathname === '/getGLCodes5' ? queryErrors(searchParams) : bodyErrors(received.body);
    if (Object.keys(errors).length > 0) return validationProblem(errors)(response, received);
    const answer =
      pathname === '/getGLCodes5'
        ? { service_status: record, list: codes }
        : pathname === '/updateWorkflowCSV'
          ? { unresolved: '' }
          : record;
    response.writeHead(200, { 'content-type': jsonType }).end(serialize(answer, settings));
  };
}

function serialize(value: object, settings: AspNetSettings): string {
  const { naming, numbersAsText, ignore } = settings;
  return JSON.stringify(value, (_, field: unknown) => {
    if (typeof field === 'number') return numbersAsText ? String(field) : field;
    if (typeof field !== 'object' || field === null || Array.isArray(field)) return field;
    const isLeftOut = (one: unknown) =>
      (ignore !== undefined && one === null) || (ignore === 'WhenWritingDefault' && one === 0);
    const nameOf = (name: string) =>
      naming === 'camelCase' ? `${name.charAt(0).toLowerCase()}${name.slice(1)}` : name;
    const kept = Object.entries(field).filter(([, one]) => !isLeftOut(one));
    return Object.fromEntries(kept.map(([name, one]) => [nameOf(name), one]));
  });
}

function queryErrors(query: URLSearchParams): Record<string, string[]> {
  // An empty text counts as missing.
  return query.get('project')?.trim() ? {} : { project: ['The project field is required.'] };
}

/** What the model of an approver rejects: `int` does not take null, a text, or more than 32 bits. */
function bodyErrors(body: string): Record<string, string[]> {
  const rows: unknown = body === '' ? [] : JSON.parse(body);
  if (!Array.isArray(rows)) return {};
  const index = rows.findIndex(
    ({ approver_id: id = 0 }) => !Number.isInteger(id) || Math.abs(id) > MAX_INT32,
  );
  if (index < 0) return {};
  return {
    approvers: ['The approvers field is required.'],
    [`$[${index}].approver_id`]: ['The JSON value could not be converted to System.Int32.'],
  };
}

/** The response of [ApiController] to a request that does not fit the model. */
function validationProblem(errors: Record<string, string[]>): Reply {
  const title = 'One or more validation errors occurred.';
  return problem(400, { title, errors });
}

function problem(status: number, fields: object): Reply {
  const body = {
    type: 'https://tools.ietf.org/html/rfc9110',
    status,
    ...fields,
    traceId: '00-1-2-00',
  };
  return reply(status, JSON.stringify(body), { 'content-type': problemType });
}

const empty = (status: number, headers = {}) =>
  reply(status, '', { 'content-length': '0', ...headers });

/** Responses that do not come from an action, and those of the results of an action. */
export const aspNetAnswers = {
  /** `return null` */
  nullResult: reply(204),
  /** `return Ok()` */
  okWithoutRecord: empty(200),
  badRequestText: reply(400, 'The project is unknown.', {
    'content-type': 'text/plain; charset=utf-8',
  }),
  /** JwtBearer: the token has expired, with a tolerance of 300 s. */
  expired: empty(401, {
    'www-authenticate':
      'Bearer error="invalid_token", error_description="The token expired at \'11/28/2026 17:55:06\'"',
  }),
  /** A policy of authorization, or `Forbid()` */
  forbidden: empty(403),
  notFound: problem(404, { title: 'Not Found' }),
  wrongMethod: empty(405, { allow: 'POST' }),
  conflict: problem(409, { title: 'Conflict' }),
  tooLargeBody: empty(413, { connection: 'close' }),
  tooLongUrl: empty(414, { connection: 'close' }),
  wrongMediaType: problem(415, { title: 'Unsupported Media Type' }),
  /** AddRateLimiter with RejectionStatusCode = 429 */
  limited: empty(429),
  /** UseHttpsRedirection */
  toHttps: empty(307, { location: 'https://127.0.0.1/upgradeToHQ' }),
  /** An exception in production */
  exception: empty(500),
  /** An exception in development, with the stack and the headers of the request */
  developmentPage: reply(
    500,
    'System.InvalidOperationException: secret\n   at Ledger.Save()\n\nHEADERS\n=======\nAuthorization: Bearer secret',
    { 'content-type': 'text/plain; charset=utf-8' },
  ),
  /** AddRateLimiter by default */
  limitedByDefault: empty(503),
  /** AddRequestTimeouts */
  timeout: empty(504),
} satisfies Record<string, Reply>;

/** `StatusCode(status, new ServiceStatus { … })` */
export const aspNetRecord = (httpStatus: number, status: number): Reply =>
  reply(httpStatus, JSON.stringify({ invoice_id: 48214, message: 'It failed.', status }), {
    'content-type': jsonType,
  });
