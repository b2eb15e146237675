/**
 * Removes the quotes around values, and returns a problem for each. `docker run --env-file`, Kubernetes and systemd pass some
 * quotes on as a part of the value, where a shell would have removed them. The values inside are checked like any other.
 */
export function withoutQuotes(
  given: Readonly<Record<string, string | undefined>>,
  isOurs: (name: string) => boolean,
) {
  const problems: string[] = [];
  const entries = Object.entries(given).map(([name, value = '']) => {
    const [, , inner] = (isOurs(name) && /^(["'])(.*)\1$/s.exec(value)) || [];
    if (inner === undefined) return [name, value] as const;
    problems.push(`${name} must not be in quotes: they would be a part of the value`);
    return [name, inner] as const;
  });
  return { values: Object.fromEntries(entries), problems };
}
