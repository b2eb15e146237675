import { discoverKeysUrl } from '../auth/discovery.ts';
import { fetchJson } from '../auth/fetch-json.ts';
import type { Issuer } from '../auth/issuer.ts';
import { keySet } from '../auth/key-set.ts';
import { CHECK_MS, capitalized, meaningOf } from './network-fault.ts';

/** The names of the settings of issuers: of variables, or of keys in the file. */
export type IssuerSettings = { issuer: string; url: string };

/** Checks whether the keys of an issuer can be fetched. Returns the faults. The keys of a file were checked when it was read. */
export async function checkIssuer(
  { issuer, keys }: Issuer,
  settings: IssuerSettings,
): Promise<string[]> {
  if (keys && !(keys instanceof URL)) return [];
  const signal = AbortSignal.timeout(CHECK_MS);
  try {
    await fetchJson(keys ?? (await discoverKeysUrl(issuer, signal)), keySet, signal);
    return [];
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const setting = keys ? settings.url : `${settings.issuer} ${issuer}`;
    return [`${setting}: ${fault}. ${remedyOf(fault, settings)}`];
  }
}

/** What to write instead. The fault is that of `fetchJson`: it begins with the address, or has one for each of two. */
function remedyOf(fault: string, { issuer, url }: IssuerSettings): string {
  const code = (fault.split('; ').at(-1) ?? '').replace(/^\S+: /, '');
  if (code.includes('{tenantid}')) {
    return 'Name a file in JWT_ISSUERS_FILE that lists the tenants: see docs/how-to/issuers.md';
  }
  if (code.startsWith('names the issuer')) {
    return `Write exactly this issuer in ${issuer} if your tokens have it as \`iss\`. Otherwise set ${url} to the address of the keys`;
  }
  if (/^(status|no|not|over|more) /.test(code)) {
    return `Correct ${issuer}, or set ${url} to the address of the keys`;
  }
  return capitalized(meaningOf(code));
}
