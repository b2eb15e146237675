import { z } from 'zod';
import type { Issuer } from '../auth/issuer.ts';
import { parseStrictJson } from '../lib/strict-json.ts';
import { algorithm, fileOf, jwks, url } from './environment-variable.ts';
import { FileSetting } from './file-setting.ts';

/** What stands for the tenant in the name of an issuer. */
const TENANT = '{tenantid}';

const notEmpty = 'must not be empty';
const text = z
  .string('must be a text')
  .regex(/\S/, notEmpty)
  .regex(/^(?!["'\s]).*(?<!["'\s])$/s, 'must not begin or end with a blank or a quote');
const listOf = <Item>(item: z.ZodType<Item>) => z.array(item, 'must be a list').min(1, notEmpty);

/** The claims that each token may have (RFC 7519, section 4.1). None of them names the application that has the token. */
const registeredClaims = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'];

const issuerType = z
  .strictObject({
    issuer: text,
    audience: z.union([text, listOf(text)], 'must be a text, or a list of texts'),
    jwksUrl: url.optional(),
    jwksFile: text.transform((path) => new FileSetting(path, jwks)).optional(),
    algorithms: listOf(algorithm).optional(),
    audienceClaim: text
      .refine(
        (name) => !registeredClaims.includes(name),
        'must name an application, as client_id does',
      )
      .optional(),
    tenants: listOf(text.regex(/^[\w.-]+$/, 'must be the id of a tenant')).optional(),
  })
  .refine(({ jwksUrl, jwksFile }) => !jwksUrl || !jwksFile, 'set jwksUrl or jwksFile, not both')
  .refine(
    ({ issuer, tenants }) => issuer.includes(TENANT) === (tenants !== undefined),
    `${TENANT} in issuer and tenants are required together`,
  )
  .refine(
    ({ issuer }) => !/[{}]/.test(issuer.replaceAll(TENANT, '')),
    `issuer must have no braces other than ${TENANT}`,
  )
  .refine(
    ({ issuer, jwksUrl, jwksFile }) => jwksUrl || jwksFile || url.safeParse(issuer).success,
    'issuer must be an http(s) URL, unless jwksUrl or jwksFile is set',
  );

/** An issuer with tenants becomes one for each tenant. */
const issuersType = listOf(
  issuerType.transform(({ issuer, audience, jwksUrl, jwksFile, tenants, ...others }): Issuer[] => {
    const shared = { audiences: [audience].flat(), keys: jwksFile ?? jwksUrl, ...others };
    if (!tenants) return [{ issuer, ...shared }];
    return tenants.map((id) => ({
      issuer: issuer.replaceAll(TENANT, id),
      tenant: { id, template: issuer },
      ...shared,
    }));
  }),
)
  .transform((all) => all.flat())
  .superRefine((all, context) => {
    const names = all.map(({ issuer }) => issuer);
    for (const name of names.filter((one, index) => names.indexOf(one) < index)) {
      context.addIssue({ code: 'custom', message: `has the issuer ${name} twice` });
    }
  });

/** A file with issuers. The files of keys that it names are checked, too. */
export const issuersFile = fileOf(
  (json) => parseStrictJson(json, 'a list of issuers', issuersType, Object.keys(issuerType.shape)),
  'must be a readable file with a list of issuers',
).superRefine((file, context) => {
  for (const { path, fault } of keyFilesOf(file.value)) {
    if (fault) context.addIssue({ code: 'custom', message: `names ${path}, which ${fault}` });
  }
});

/** The files that have the keys of issuers. */
export function keyFilesOf(issuers: readonly Issuer[]): FileSetting<unknown>[] {
  const keys = new Set(issuers.map((issuer) => issuer.keys));
  return [...keys].filter((one) => one instanceof FileSetting);
}
