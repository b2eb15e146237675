import { closest } from 'fastest-levenshtein';
import { z } from 'zod';
import type { Issuer } from '../auth/issuer.ts';
import { parseStrictJson } from '../lib/strict-json.ts';

/** What stands for the tenant in the name of an issuer. */
const TENANT = '{tenantid}';

const notEmpty = 'must not be empty';
const text = z
  .string('must be a text')
  .regex(/\S/, notEmpty)
  .regex(/^(?!["'\s]).*(?<!["'\s])$/s, 'must not begin or end with a blank or a quote');
const listOf = <Item>(item: z.ZodType<Item>) => z.array(item, 'must be a list').min(1, notEmpty);

/** The claims that each token may have (RFC 7519, section 4.1). None of them names the application that has the token. */
const registeredClaims = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** The types of variables that occur in the file, too. */
type Types = {
  url: z.ZodType<URL>;
  algorithm: z.ZodType<string>;
  openKeys: (path: string) => NonNullable<Exclude<Issuer['keys'], URL>>;
};

function typeOf({ url, algorithm, openKeys }: Types) {
  return z
    .strictObject({
      issuer: text,
      audience: z.union([text, listOf(text)], 'must be a text, or a list of texts'),
      jwksUrl: url.optional(),
      jwksFile: text.optional(),
      algorithms: listOf(algorithm).optional(),
      audienceClaim: text
        .refine(
          (name) => !registeredClaims.has(name),
          'must name an application, as client_id does',
        )
        .optional(),
      tenants: listOf(text.regex(/^[\w.-]+$/, 'must be the id of a tenant')).optional(),
    })
    .superRefine(({ issuer, jwksUrl, jwksFile, tenants }, context) => {
      const hasKeys = jwksUrl !== undefined || jwksFile !== undefined;
      const problems = {
        'set jwksUrl or jwksFile, not both': jwksUrl !== undefined && jwksFile !== undefined,
        [`${TENANT} in issuer and tenants are required together`]:
          issuer.includes(TENANT) !== (tenants !== undefined),
        [`issuer must have no braces other than ${TENANT}`]: /[{}]/.test(
          issuer.replaceAll(TENANT, ''),
        ),
        'issuer must be an http(s) URL, unless jwksUrl or jwksFile is set':
          !hasKeys && !url.safeParse(issuer).success,
      };
      for (const [message, isFound] of Object.entries(problems)) {
        if (isFound) context.addIssue({ code: 'custom', message });
      }
    })
    .transform(({ issuer, audience, jwksUrl, jwksFile, tenants, ...others }): Issuer[] => {
      const audiences = typeof audience === 'string' ? [audience] : audience;
      const keys = jwksFile === undefined ? jwksUrl : openKeys(jwksFile);
      const shared = { audiences, keys, ...others };
      if (!tenants) return [{ issuer, ...shared }];
      return tenants.map((id) => ({
        issuer: issuer.replaceAll(TENANT, id),
        tenant: { id, template: issuer },
        ...shared,
      }));
    });
}

/**
 * Reads the text of a file with issuers. An issuer with tenants becomes one for each tenant. Returns its faults if it has any.
 * The files of keys are opened, but not checked.
 */
export function readIssuers(json: string, types: Types): Issuer[] | { faults: string[] } {
  const parsed = parseStrictJson(json);
  if ('faults' in parsed) return parsed;
  const issuer = typeOf(types);
  const { data, error } = listOf(issuer).safeParse(parsed.value);
  if (error) {
    const known = Object.keys(issuer.in.shape);
    return { faults: error.issues.flatMap((issue) => faultsOf(issue, known)) };
  }
  const issuers = data.flat();
  const names = issuers.map(({ issuer }) => issuer);
  const twice = names.filter((name, index) => names.indexOf(name) < index);
  if (twice.length > 0) return { faults: twice.map((name) => `has the issuer ${name} twice`) };
  return issuers;
}

function faultsOf(issue: z.core.$ZodIssue, known: string[]): string[] {
  const path = z.core.toDotPath(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${path}.${key} is unknown. Did you mean ${closest(key, known)}?`,
    );
  }
  return [path === '' ? issue.message : `${path} ${issue.message}`];
}
