import { z } from 'zod';

/** A schema of an OpenAPI description, with its references resolved: as far as a comparison needs it. */
export type Shape = {
  /** Without `null`. Empty if the description does not say the type. */
  readonly types: readonly string[];
  readonly isNullable: boolean;
  readonly format: string | undefined;
  /** The allowed values. Empty if any value is. */
  readonly values: readonly unknown[];
  readonly fields: ReadonlyMap<string, Shape>;
  readonly required: readonly string[];
  readonly items: Shape | undefined;
};

/** An operation of an OpenAPI description. */
export type Described = {
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Undefined if there is none. */
  readonly body: Body | undefined;
  /** Undefined if the description does not say it. */
  readonly response: Body | undefined;
};

/** A body by its media types, such as `application/json; charset=utf-8`. A media type without a schema has no shape. */
export type Body = ReadonlyMap<string, Shape | undefined>;

export type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Shape;
};

export type OpenApiFile = { readonly title: string; readonly operations: readonly Described[] };

const reference = z.object({ $ref: z.string() });
const schemaNode = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  nullable: z.boolean().optional(),
  format: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  items: z.unknown().optional(),
  allOf: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
});
const parameterNode = z.object({
  name: z.string(),
  in: z.string(),
  required: z.boolean().default(false),
  schema: z.unknown().optional(),
});
const contentNode = z.object({
  content: z.record(z.string(), z.object({ schema: z.unknown().optional() })).default({}),
});
const operationNode = z.object({
  parameters: z.array(z.unknown()).default([]),
  requestBody: z.unknown().optional(),
  responses: z.record(z.string(), z.unknown()).default({}),
});
const fileNode = z.object({
  openapi: z
    .string({ error: 'is no OpenAPI 3: for Swashbuckle, remove SerializeAsV2' })
    .regex(/^3\./),
  info: z.object({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});

const methods = ['get', 'put', 'post', 'delete', 'patch'];
/** A type may contain itself, and the types of the declarations are not as deep. */
const MAX_DEPTH = 12;

/** Reads an OpenAPI 3 description in JSON. Throws an Error that names the file and says what is wrong. */
export function readOpenApi(bytes: Uint8Array, file: string): OpenApiFile {
  const text = textOf(bytes);
  try {
    return read(JSON.parse(text));
  } catch (error) {
    if (error instanceof z.ZodError) throw new Error(`${file} ${z.prettifyError(error)}`);
    if (!(error instanceof SyntaxError)) throw error;
    const start = text.trim().slice(0, 40);
    const found = start === '' ? 'is empty' : `begins with ${JSON.stringify(start)}`;
    throw new Error(`${file} is not JSON. It ${found}.`);
  }
}

/** A text in UTF-8, or in UTF-16 as `>` of Windows PowerShell writes it. A byte order mark is left out. */
function textOf(bytes: Uint8Array): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes);
}

function read(root: unknown): OpenApiFile {
  const { openapi, info, paths } = fileNode.parse(root);
  const resolve = (node: unknown): unknown => {
    const { data } = reference.safeParse(node);
    return data ? valueAt(root, data.$ref) : node;
  };
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      if (item[method] === undefined) return [];
      const { parameters, requestBody, responses } = operationNode.parse(item[method]);
      const shared = z.array(z.unknown()).default([]).parse(item.parameters);
      return {
        method: method.toUpperCase(),
        path,
        parameters: [...shared, ...parameters].map((node) => {
          const { schema, ...others } = parameterNode.parse(resolve(node));
          return { ...others, schema: shapeOf(schema, resolve) };
        }),
        body: bodyOf(requestBody, resolve),
        response: bodyOf(successOf(responses), resolve),
      };
    }),
  );
  return { title: `${info.title} ${info.version}, OpenAPI ${openapi}`, operations };
}

type Resolve = (node: unknown) => unknown;

/** The response of an operation that has succeeded. The gateway reads each status from 200 to 299 in the same way. */
function successOf(responses: Readonly<Record<string, unknown>>): unknown {
  const status = Object.keys(responses).find((name) => /^2/.test(name));
  return responses[status ?? 'default'];
}

function bodyOf(node: unknown, resolve: Resolve): Body | undefined {
  if (node === undefined) return undefined;
  const entries = Object.entries(contentNode.parse(resolve(node)).content).map(
    ([type, { schema }]) =>
      [type, schema === undefined ? undefined : shapeOf(schema, resolve)] as const,
  );
  return entries.length > 0 ? new Map(entries) : undefined;
}

/** Merges a schema with those of which it consists: a nullable reference is `allOf` or `oneOf`, depending on the version. */
function shapeOf(node: unknown, resolve: Resolve, depth = 0): Shape {
  const schema = schemaNode.parse(depth > MAX_DEPTH ? {} : (resolve(node) ?? {}));
  const { allOf = [], anyOf = [], oneOf = [], properties = {} } = schema;
  const parts = [...allOf, ...anyOf, ...oneOf].map((part) => shapeOf(part, resolve, depth + 1));
  const types = [schema.type ?? []].flat();
  const own = Object.entries(properties).map(
    ([name, field]) => [name, shapeOf(field, resolve, depth + 1)] as const,
  );
  const values = schema.enum ?? parts.flatMap((part) => part.values);
  return {
    types: [...types.filter((type) => type !== 'null'), ...parts.flatMap((part) => part.types)],
    isNullable:
      schema.nullable === true || types.includes('null') || parts.some((part) => part.isNullable),
    format: schema.format ?? parts.find((part) => part.format)?.format,
    values: values.filter((value) => value !== null),
    fields: new Map([...parts.flatMap((part) => [...part.fields]), ...own]),
    required: [...(schema.required ?? []), ...parts.flatMap((part) => part.required)],
    items:
      schema.items === undefined
        ? parts.find((part) => part.items)?.items
        : shapeOf(schema.items, resolve, depth + 1),
  };
}

/** The value at a reference such as `#/components/schemas/Approver`. Throws if there is none. */
function valueAt(root: unknown, pointer: string): unknown {
  let value = root;
  for (const step of pointer.split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    value = Object.hasOwn(Object(value), name) ? Reflect.get(Object(value), name) : undefined;
  }
  if (value === undefined) throw new Error(`The description has no ${pointer}.`);
  return value;
}
