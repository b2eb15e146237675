import { deepEqual, equal, match, notEqual } from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { variables } from '../../testkit/config.ts';
import { lint, type Manifest, render } from './chart.ts';
import { checkCompose } from './compose.ts';
import { declare, resourcesOf } from './models.ts';
import { check, expectSame } from './report.ts';
import { checksOf } from './resources.ts';
import { checkSettings, faultOf } from './settings-table.ts';
import { checkSystemd } from './systemd.ts';

/**
 * `npm run manifests:check`: renders the Helm chart with Helm, and checks the result against the schemas of Kubernetes. Checks the
 * chart, compose.yaml and the unit of systemd against the gateway's configuration and its shutdown. Prints each fault, and exits
 * with 1 if there is one. Misspelled fields of Kubernetes are not faults of its schemas: for them, the check writes
 * generated.ts, which the compiler reads afterwards.
 */
const text = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

const production = 'helm/examples/production.yaml';
const required = 'manifests/values/required.yaml';
const everything = 'manifests/values/everything.yaml';
const least = 'manifests/values/least.yaml';
const renderings = {
  required: [required],
  everything: [everything],
  production: [production],
  staging: [production, 'helm/examples/staging.yaml'],
};

const rendered: Manifest[] = [];
for (const [name, values] of Object.entries(renderings)) {
  const manifests: Manifest[] = [];
  check(`helm, ${name}: helm lint, helm template and the schemas of Kubernetes`, () => {
    lint(values);
    manifests.push(...render(values));
    resourcesOf(manifests);
  });
  if (manifests.length === 0) continue;
  for (const [what, run] of checksOf(manifests)) check(`helm, ${name}: ${what}`, run);
  rendered.push(...manifests);
}

check('helm: everything can be turned off', () => {
  const manifests = render([least]);
  resourcesOf(manifests);
  const kinds = manifests.map(({ kind }) => kind).sort();
  deepEqual(kinds, ['Deployment', 'Service']);
  rendered.push(...manifests);
});
writeFileSync(new URL('generated.ts', import.meta.url), declare(rendered));

/** What Helm says to values. Empty if it accepts them. */
function rejectionOf(values: string[], ...args: string[]): string {
  try {
    render(values, args);
    return '';
  } catch (error) {
    return String(error);
  }
}

const mistakes = {
  'setings.LOG_LEVEL=debug': /setings/,
  'settings.JWT_REQUIRED_SCOPES=a': /JWT_REQUIRED_SCOPES/,
  'settings.IDEMPOTENCY_STORE=rediss://user:password@redis': /IDEMPOTENCY_STORE/,
  'settings.UPSTREAM_BASE_URL=': /settings\.UPSTREAM_BASE_URL is required/,
  'settings.JWT_ISSUER=': /settings\.JWT_ISSUER is required/,
  'settings.JWT_ISSUER=id.example.com': /JWT_ISSUER .* such as https:\/\/id\.example\.com$/m,
  'settings.UPSTREAM_BASE_URL=ledger:80/api': /BASE_URL .* such as https:\/\/ledger:80\/api$/m,
  'settings.SHUTDOWN_TIMEOUT_MS=55s': /whole milliseconds from 1 to 600000, without a unit$/m,
  'autoscaling.minReplicas=9': /minReplicas is above/,
  'settings.JWT_AUDIENCE=': /settings\.JWT_AUDIENCE is required/,
  'files.IDEMPOTENCY_STORE_FILE=null': /IDEMPOTENCY_STORE_FILE is required/,
  'files.IDEMPOTENCY_STORE_FILE=null,settings.IDEMPOTENCY_STORE=memory': /set replicas to 1/,
  'podSecurityContext.runAsUser=0': /runAsUser/,
  'networkPolicy.httpFrom=null': /networkPolicy\.httpFrom is required/,
  'podMonitor.enabled=true': /networkPolicy\.metricsFrom is required/,
  'audit.output=volume': /audit\.volume is empty/,
  'settings.JWT_AUDIENCE=312345678901234567': /JWT_AUDIENCE': got number, want string/, // Helm would round it.
  'settings.JWT_AUDIENCE=\'"ledger"\'': /JWT_AUDIENCE is '"ledger"': remove the quotes/,
};
for (const [argument, words] of Object.entries(mistakes)) {
  check(`helm: ${argument} is rejected`, () => {
    match(rejectionOf([required], '--set', argument), words);
  });
}

check('helm: all missing values are named at once', () => {
  const missing = rejectionOf([]).matchAll(/^- ([\w.]+) is required/gm);
  const settings = ['JWT_AUDIENCE', 'JWT_ISSUER', 'UPSTREAM_BASE_URL'];
  const expected = settings.map((name) => `settings.${name}`);
  deepEqual(
    Array.from(missing, ([, name]) => name),
    ['image.repository', ...expected, 'networkPolicy.httpFrom'],
  );
});

const schemaProperties = z.object({ properties: z.record(z.string(), z.unknown()) });
const { settings: ofSettings, files: ofFiles } = z
  .object({ properties: z.object({ settings: schemaProperties, files: schemaProperties }) })
  .parse(JSON.parse(text('helm/values.schema.json'))).properties;

/** Values at the bounds of what the gateway accepts, and beyond. `;` separates them. */
const tried = {
  UPSTREAM_TIMEOUT_MS: '1;600000;0;600001;-1;1.5;010;1e3;99999999999999999999',
  SHUTDOWN_TIMEOUT_MS: '1;0;600000;600001',
  SHUTDOWN_DELAY_MS: '0;600001',
  READ_CACHE_S: '0;300;301',
  IDEMPOTENCY_RETENTION_S: '3600;60;31536001',
  UPSTREAM_MAX_CONCURRENCY: '1;0;65535;70000',
  UPSTREAM_KEEP_ALIVE_S: '2;1',
  OTEL_TRACES_SAMPLER_ARG: '0;0.25;1.0;2;10%;1.5;.5',
  JWT_ALGORITHMS: 'RS256;RS256, EdDSA;HS256;RS256,none;,',
  WORKFLOW_ACTIONS: 'RESTART,UPGRADE_TO_HQ;RESTART,restart',
  UPSTREAM_BASE_URL: `https://a.example;http://a:80/b/;https://a.example/b@c;https:///a;HTTPS://a.example;a.example;https://;
    ftp://a.example;https://u:p@a.example;https://a.example/?x=1;https://a.example/#b;https://a b.example/`,
  JWT_JWKS_URL: 'https://a.example/keys?x=1;https://u@a.example/keys;keys.json',
  CORS_ORIGINS: `https://a.example;https://a.example, http://localhost:*;https://*.preview.a.example;*;https://a.example/;
    https://a.example,a.example;https://u@a.example;https://a.example/b`,
};
check('helm: a setting is rejected if, and only if, the gateway rejects it', () => {
  const numbersAndUrls = Object.keys(ofSettings.properties).filter((name) =>
    /an integer|whole|http\(s\) URL|origins/.test(faultOf(name, '10s') ?? ''),
  );
  const pairs = [
    ...numbersAndUrls.map((name) => [name, '10s'] as const),
    ...Object.entries(tried).flatMap(([name, values]) =>
      values.split(/;\s*/).map((value) => [name, value] as const),
    ),
  ];
  const wrong = pairs.filter(([name, value]) => {
    const escaped = value.replaceAll(',', '\\,');
    const rejection = rejectionOf([required], '--set-string', `settings.${name}=${escaped}`);
    return (rejection === '') !== (faultOf(name, value) === undefined);
  });
  deepEqual(wrong, []);
});

check('helm/settings.json has the bounds and the names of the gateway', checkSettings);

check('helm/values.schema.json has the values of the variables with few values', () => {
  for (const [name, property] of Object.entries(ofSettings.properties)) {
    const values = z.object({ enum: z.array(z.unknown()) }).safeParse(property).data?.enum ?? [];
    const others = /^must be ([\w, ]+ or \w+)$/.exec(faultOf(name, 'no such value') ?? '')?.[1];
    const expected = others?.split(/, | or /) ?? [];
    const named = (list: unknown[]) => list.map((value) => `${name}=${value}`);
    expectSame(named(values), named(expected));
  }
});

check('helm/values.schema.json: the settings and files are the variables of the gateway', () => {
  const known = [...Object.keys(ofSettings.properties), ...Object.keys(ofFiles.properties)];
  const byChart = /^(PORT|HOST|ADMIN_PORT|POLICY_FILE|AUDIT|AUDIT_SUBJECT|GIT_COMMIT)$/;
  const expected = Object.keys(variables).filter((name) => !byChart.test(name));
  expectSame(known, [...expected, 'NODE_EXTRA_CA_CERTS']);
});

const deploymentWith = (...args: string[]) =>
  JSON.stringify(render([everything], args).find(({ kind }) => kind === 'Deployment'));

check('helm: a changed policy starts no new pods, a changed setting does', () => {
  const before = deploymentWith();
  equal(deploymentWith('--set', 'policy.text=another'), before);
  notEqual(deploymentWith('--set', 'settings.LOG_LEVEL=warn'), before);
});

check('helm: a pod whose store is its own ends before the next one starts', () => {
  const deployment = render([least]).find(({ kind }) => kind === 'Deployment');
  match(JSON.stringify(deployment), /"strategy":\{"type":"Recreate"\}/);
});

check('helm: the policy and the settings arrive as they are written', () => {
  const { policy, settings } = z
    .object({
      policy: z.object({ text: z.string() }),
      settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    })
    .parse(parse(text(everything)));
  const manifests = render([everything]);
  const config = manifests.find(({ kind }) => kind === 'ConfigMap');
  const { data } = z.looseObject({ data: z.record(z.string(), z.string()) }).parse(config);
  equal(data['policy.json'], policy.text);
  const deployment = JSON.stringify(manifests);
  const wrong = Object.entries(settings).filter(
    ([name, value]) => !deployment.includes(JSON.stringify({ name, value: String(value) })),
  );
  deepEqual(wrong, []);
});

// A chart reads only files in its folder.
check('helm/alerts.rules.yml is that of Prometheus', () => {
  if (text('helm/alerts.rules.yml') !== text('prometheus/alerts.rules.yml')) {
    throw new Error('run `cp deploy/prometheus/alerts.rules.yml deploy/helm/`');
  }
});

check('helm/Chart.yaml has the version of the gateway', () => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(text('../package.json')));
  z.object({ version: z.literal(version), appVersion: z.literal(version) }).parse(
    parse(text('helm/Chart.yaml')),
  );
});

// `npm run proxies:check` tries these rules in haproxy.cfg.
check(`${production}: its rules are those of haproxy.cfg`, () => {
  const snippet = 'haproxy.org/backend-config-snippet';
  const { ingress } = z
    .object({ ingress: z.object({ annotations: z.object({ [snippet]: z.string() }) }) })
    .parse(parse(text(production)));
  const tried = text('haproxy.cfg').split(/\s*\n\s*/);
  const rules = ingress.annotations[snippet]?.trim().split('\n') ?? [];
  deepEqual(
    rules.filter((rule) => !tried.includes(rule)),
    [],
  );
});

checkCompose();
checkSystemd();
