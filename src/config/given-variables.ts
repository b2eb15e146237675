import { closest, distance } from 'fastest-levenshtein';

/** First words of names that other programs use, too. A name that begins with one of them is a fault only if it is nearly one of ours. */
const SHARED_WORDS = new Set(['ADMIN', 'GIT', 'LOG', 'MAX', 'OTEL', 'READ']);

/** What Kubernetes and Docker set for a service that is called `upstream`, such as `UPSTREAM_PORT_80_TCP_ADDR`. */
const LINK = /_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$/;

/** The variables of OpenTelemetry that its packages read themselves. */
const OTEL_IN_EFFECT =
  /^OTEL_(SERVICE_NAME|RESOURCE_ATTRIBUTES|EXPORTER_OTLP_(TRACES_)?(HEADERS|TIMEOUT|COMPRESSION|CERTIFICATE|CLIENT_KEY|CLIENT_CERTIFICATE))$/;

/**
 * Finds the variables that are not empty, and what is wrong with their names and quotes. `known` are those of the gateway.
 * Quotes are removed, so that the value inside is checked, too: `docker run --env-file`, Kubernetes and systemd pass some
 * quotes on as a part of the value, where a shell would have removed them.
 */
export function readGiven(
  values: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
) {
  const isRead = (name: string) => known.includes(name) || OTEL_IN_EFFECT.test(name);
  const given: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, value = ''] of Object.entries(values)) {
    const [, , inner] = (isRead(name) && /^(["'])(.*)\1$/s.exec(value)) || [];
    const text = inner ?? value;
    if (text !== value) {
      problems.push(`${name} must not be in quotes: they would be a part of the value`);
    }
    if (text !== '') given[name] = text;
  }
  const names = Object.keys(given);
  return {
    given,
    problems: [...problems, ...findUnknown(names, known)],
    /** The variables of OpenTelemetry that nothing reads. */
    withoutEffect: names.filter((name) => name.startsWith('OTEL_') && !isRead(name)),
  };
}

/** A problem for each variable that is none of the gateway's, but begins like one or is nearly one. Names of one word are left out. */
function findUnknown(names: readonly string[], known: readonly string[]): string[] {
  const long = known.filter((name) => name.includes('_'));
  return names.flatMap((name) => {
    if (long.includes(name) || !name.includes('_') || LINK.test(name)) return [];
    const whole = long.find((one) => one.startsWith(name));
    const meant = whole ?? closest(name, long);
    // A short name is close to many others.
    const mayMean = wordOf(name) === wordOf(meant) || !SHARED_WORDS.has(wordOf(meant));
    const isClose = mayMean && distance(name, meant) <= Math.min(3, name.length / 4);
    if (whole || isClose) return [`${name} is unknown. Did you mean ${meant}?`];
    const related = long.filter((one) => wordOf(one) === wordOf(name));
    if (related.length === 0 || SHARED_WORDS.has(wordOf(name))) return [];
    return [`${name} is unknown. Known are ${related.join(', ')}`];
  });
}

function wordOf(name: string): string {
  return name.split('_', 1)[0] ?? '';
}
