import { closest, distance } from 'fastest-levenshtein';

/** First words of names that other programs use, too. A name that begins with one of them is a fault only if it is nearly one of ours. */
const SHARED_WORDS = new Set(['ADMIN', 'GIT', 'LOG', 'MAX', 'OTEL', 'READ']);

/** What Kubernetes and Docker set for a service that is called `upstream`, such as `UPSTREAM_PORT_80_TCP_ADDR`. */
const LINK = /_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$/;

/** The variables of OpenTelemetry that its packages read themselves. */
const OTEL_IN_EFFECT =
  /^OTEL_(SERVICE_NAME|RESOURCE_ATTRIBUTES|EXPORTER_OTLP_(TRACES_)?(HEADERS|TIMEOUT|COMPRESSION|CERTIFICATE|CLIENT_KEY|CLIENT_CERTIFICATE))$/;

/** A problem for each variable that is none of the gateway's, but begins like one or is nearly one. Names of one word are left out. */
export function findUnknown(names: readonly string[], known: readonly string[]): string[] {
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

/** Whether the gateway, or a package of OpenTelemetry, reads a variable. */
export function isRead(name: string, known: readonly string[]): boolean {
  return known.includes(name) || OTEL_IN_EFFECT.test(name);
}

/** The variables of OpenTelemetry that are set, and that nothing here reads. */
export function findWithoutEffect(names: readonly string[], known: readonly string[]): string[] {
  return names.filter((name) => name.startsWith('OTEL_') && !isRead(name, known));
}

function wordOf(name: string): string {
  return name.split('_', 1)[0] ?? '';
}
