import { prefixOf, serviceNames } from '../src/config/service-settings.ts';

/** A variable, such as `TIMEOUT_MS`, with the same value for each service of the gateway. */
export function ofEveryService(variable: string, value: string): Record<string, string> {
  return Object.fromEntries(serviceNames.map((name) => [prefixOf(name) + variable, value]));
}

/** The variables that give each service of the gateway the same base URL. */
export const baseUrls = (url: string) => ofEveryService('BASE_URL', url);
