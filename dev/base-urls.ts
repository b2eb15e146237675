import { prefixOf, serviceNames } from '../src/config/service-settings.ts';

/** The variables that give each service of the gateway the same base URL. */
export function baseUrls(url: string): Record<string, string> {
  return Object.fromEntries(serviceNames.map((name) => [`${prefixOf(name)}BASE_URL`, url]));
}
