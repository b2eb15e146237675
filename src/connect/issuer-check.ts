import { discoverKeysUrl } from '../auth/discovery.ts';
import { fetchJson } from '../auth/fetch-json.ts';
import type { Issuer } from '../auth/issuer.ts';
import { algorithmsOf, type KeySet, keySet } from '../auth/key-set.ts';
import { CHECK_MS, meaningOf } from './network-fault.ts';

/** The names of the settings of issuers: of variables, or of keys in the file. */
export type IssuerSettings = { issuer: string; url: string };

/**
 * Checks whether the keys of an issuer can be fetched, and can verify a token with an accepted algorithm. Those of a file were
 * checked when it was read. Returns the faults, and a hint if nobody can know whose keys they are.
 */
export async function checkIssuer(
  accepted: Issuer,
  settings: IssuerSettings,
  sharedAlgorithms: readonly string[],
): Promise<{ faults: string[]; hints: string[] }> {
  const { issuer, keys, algorithms = sharedAlgorithms } = accepted;
  const hints = isExposed(accepted)
    ? [
        `${settings.url} of ${issuer}: the keys are fetched without TLS. Whoever can change the response can sign tokens. Write an https address`,
      ]
    : [];
  try {
    const found = await keysOf(accepted);
    const possible = new Set(found.keys.flatMap(algorithmsOf));
    if (algorithms.some((name) => possible.has(name))) return { faults: [], hints };
    const setting = accepted.algorithms ? 'algorithms' : 'JWT_ALGORITHMS';
    const fault = `${setting} ${algorithms.join(', ')}: the keys of ${issuer} are for other algorithms. Write one of ${[...possible].join(', ')}`;
    return { faults: [fault], hints };
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const setting = keys ? settings.url : `${settings.issuer} ${issuer}`;
    return { faults: [`${setting}: ${fault}${remedyOf(fault, settings, !keys)}`], hints };
  }
}

async function keysOf({ issuer, keys }: Issuer): Promise<KeySet> {
  if (keys && !(keys instanceof URL)) return keys.value;
  const signal = AbortSignal.timeout(CHECK_MS);
  return fetchJson(keys ?? (await discoverKeysUrl(issuer, signal)), keySet, signal);
}

/** Whether the keys of an issuer with TLS are fetched from another machine without TLS. Discovery accepts no such address. */
function isExposed({ issuer, keys }: Issuer): boolean {
  const isPlain = keys instanceof URL && keys.protocol === 'http:';
  return (
    isPlain &&
    issuer.startsWith('https:') &&
    !/^(localhost|127\.[\d.]+|\[::1\])$/.test(keys.hostname)
  );
}

/** What to write instead, to be read after the fault. The fault is that of `fetchJson`: it begins with the address, or has one for each of two. */
function remedyOf(fault: string, { issuer, url }: IssuerSettings, isDiscovered: boolean): string {
  const code = (fault.split('; ').at(-1) ?? '').replace(/^\S+: /, '');
  if (code.includes('{tenantid}')) {
    return '. Name a file in JWT_ISSUERS_FILE that lists the tenants: see docs/how-to/issuers.md';
  }
  if (code.startsWith('names the issuer')) {
    return `. Write exactly this issuer in ${issuer} if your tokens have it as \`iss\`. Otherwise set ${url} to the address of the keys`;
  }
  const meaning = meaningOf(code);
  if (meaning !== undefined) return `: ${meaning}`;
  return isDiscovered
    ? `. Correct ${issuer}, or set ${url} to the address of the keys`
    : `. Write the address of a JSON Web Key Set in ${url}`;
}
