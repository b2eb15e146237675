import { writeJson } from '../src/lib/json.ts';
import { ledger } from '../src/resolvers/ledger.ts';
import type { Operation } from '../src/upstream/operations.ts';
import { parseBody } from '../src/upstream/responses.ts';
import type { WireType } from '../src/upstream/wire-types.ts';

/** The OpenAPI 3.1 description of the service, as JSON, which follows from its declarations. */
export function openApi(): string {
  const description = {
    openapi: '3.1.0',
    info: {
      title: 'The service ledger',
      version: '1.0.0',
      description: 'As docs/reference/service-api.md documents it.',
    },
    servers: [{ url: 'https://ledger.example.com/api' }],
    security: [{ bearer: [] }],
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    },
    paths: Object.fromEntries(ledger.operations.map((one) => [`/${one.name}`, pathOf(one)])),
  };
  return `${writeJson(description, 2)}\n`;
}

function pathOf(operation: Operation) {
  const { method, name, effect, section, parameters, body, response, sample } = operation;
  const schemas = response.wire.map((type) => schemaOf(type));
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  const example = parseBody(Buffer.from(sample));
  return {
    [method.toLowerCase()]: {
      operationId: name,
      description: `docs/reference/service-api.md, section ${section}. ${effect === 'write' ? 'It changes state: send it once.' : 'It changes nothing.'}`,
      parameters: parametersOf(parameters),
      ...(body && { requestBody: { required: true, content: json(schemaOf(body)) } }),
      responses: {
        200: { description: 'The operation responded.', content: json(schema, example) },
        default: { description: 'An error, without a documented body.' },
      },
    },
  };
}

const json = (schema: unknown, example?: unknown) => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
});

/** The parameters of a query, as OpenAPI describes them. */
export function parametersOf({ properties = {}, required = [], additionalProperties }: WireType) {
  const named = Object.entries(properties).map(([name, type]) => {
    return { name, in: 'query', required: required.includes(name), schema: schemaOf(type) };
  });
  if (!additionalProperties) return named;
  // The way of OpenAPI to describe parameters whose names are not known.
  const schema = { type: 'object', additionalProperties: schemaOf(additionalProperties) };
  return [...named, { name: 'unnamed', in: 'query', style: 'form', explode: true, schema }];
}

/** The JSON Schema of a type, without what is ours. */
function schemaOf(wire: WireType): object {
  const { documented, exact: _, identifies: __, pattern: ___, ...shown } = wire;
  const { type, properties, items, ...others } = shown;
  const kept = Object.entries(others).filter(([name]) => !name.startsWith('~'));
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, schemaOf(field)]);
  return {
    type: documented ?? type,
    ...Object.fromEntries(kept),
    ...(items && { items: schemaOf(items) }),
    ...(properties && { properties: Object.fromEntries(fields) }),
  };
}

// `npm run openapi`
if (import.meta.main) process.stdout.write(openApi());
