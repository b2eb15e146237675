import { readFileSync } from 'node:fs';
import {
  type ASTNode,
  type ConstDirectiveNode,
  type EnumValueDefinitionNode,
  type FieldDefinitionNode,
  isTypeDefinitionNode,
  Kind,
  parse,
  print,
  visit,
} from 'graphql';
import { z } from 'zod';

/**
 * Prints the SDL of the gateway with directives of your graph, such as those that Apollo Router checks (`@authenticated`,
 * `@requiresScopes`, `@policy`) or that select the parts of a contract (`@tag`):
 *
 *   node examples/federation/add-directives.ts schema.graphql directives.json > ledger.graphql
 *
 * The JSON file has directives by the coordinates of types, fields and enum values, such as
 * `Mutation.workflowAction`.
 */
const FEDERATION = 'https://specs.apollo.dev/federation/v2.6';

/** @throws Error that names coordinates that the schema does not have, or the coordinate of a text without directives */
export function addDirectives(sdl: string, directives: Record<string, string>): string {
  const left = new Set(Object.keys(directives));
  const added = new Set<string>();
  let type = '';
  const document = visit(parse(sdl), {
    enter(node) {
      if (node.kind === Kind.SCHEMA_EXTENSION) return null; // The link to an earlier version.
      if (isTypeDefinitionNode(node)) type = node.name.value;
      else if (node.kind === Kind.DIRECTIVE_DEFINITION) return false;
      else if (!(isMember(node) && type)) return undefined;
      const coordinate = isTypeDefinitionNode(node) ? type : `${type}.${node.name.value}`;
      if (!left.delete(coordinate)) return undefined;
      const more = directivesIn(directives[coordinate] ?? '', coordinate);
      for (const { name } of more) added.add(`@${name.value}`);
      return { ...node, directives: [...(node.directives ?? []), ...more] };
    },
  });
  if (left.size > 0)
    throw new Error(`The schema has no type, field or enum value ${[...left].join(', ')}`);
  const imports = ['@key', ...added].map((name) => JSON.stringify(name)).join(', ');
  return `extend schema @link(url: "${FEDERATION}", import: [${imports}])\n\n${print(document)}\n`;
}

function isMember(node: ASTNode): node is FieldDefinitionNode | EnumValueDefinitionNode {
  const { FIELD_DEFINITION, ENUM_VALUE_DEFINITION } = Kind;
  return node.kind === FIELD_DEFINITION || node.kind === ENUM_VALUE_DEFINITION;
}

function directivesIn(text: string, coordinate: string): readonly ConstDirectiveNode[] {
  const fault = `${coordinate}: ${JSON.stringify(text)} is no list of directives such as "@authenticated"`;
  try {
    const [type, more] = parse(`scalar Type ${text}`).definitions;
    if (type?.kind === Kind.SCALAR_TYPE_DEFINITION && type.directives?.length && !more)
      return type.directives;
  } catch (error) {
    throw new Error(fault, { cause: error });
  }
  throw new Error(fault);
}

if (import.meta.main) {
  const [schema = 'schema.graphql', file = 'directives.json'] = process.argv.slice(2);
  try {
    const directives = z
      .record(z.string(), z.string())
      .parse(JSON.parse(readFileSync(file, 'utf8')));
    process.stdout.write(addDirectives(readFileSync(schema, 'utf8'), directives));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
