/** The name in GraphQL of a field or parameter of the service: `dueDate` for `due_date`. */
export function camelCase(name: string): string {
  const joined = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return `${joined.slice(0, 1).toLowerCase()}${joined.slice(1)}`;
}
