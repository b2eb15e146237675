import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { readConfig } from '../../testkit/config.ts';
import type { Manifest } from './chart.ts';
import { checkShutdown, own } from './shutdown.ts';

const labels = z.record(z.string(), z.string());
const matchLabels = z.object({ matchLabels: labels });
const port = z.object({ port: z.union([z.number(), z.string()]) });
const probe = (path: string) => z.object({ httpGet: z.object({ path: z.literal(path) }) });

const volume = z.looseObject({
  name: z.string(),
  secret: z.object({ items: z.array(z.object({ path: z.string() })) }).optional(),
});
const container = z.looseObject({
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
});
const pod = z.looseObject({
  terminationGracePeriodSeconds: z.number(),
  topologySpreadConstraints: z.array(
    z.object({ topologyKey: z.string(), labelSelector: matchLabels }),
  ),
  volumes: z.array(volume).default([]),
  containers: z.tuple([container]),
});
const deployment = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    replicas: z.number().optional(),
    selector: matchLabels,
    strategy: z.object({ rollingUpdate: z.object({ maxSurge: z.number() }) }),
    template: z.object({
      metadata: z.object({ labels, annotations: labels.optional() }),
      spec: pod,
    }),
  }),
});

/** The resources of one rendering of the chart, by kind. */
type Resources = ReadonlyMap<string, Manifest>;

const deploymentOf = (resources: Resources) => deployment.parse(resources.get('Deployment'));

/** The variables of the gateway. Those of files are left out, because the files are not here. */
function variablesOf(resources: Resources): Record<string, string> {
  const [{ env }] = deploymentOf(resources).spec.template.spec.containers;
  const values = env.flatMap(({ name, value }) =>
    value === undefined || /_FILE$|^NODE_/.test(name) ? [] : [[name, value] as const],
  );
  return { IDEMPOTENCY_STORE: 'rediss://redis', ...Object.fromEntries(values) };
}

function checkVariables(resources: Resources): void {
  const { spec } = deploymentOf(resources).spec.template;
  const variables = variablesOf(resources);
  checkShutdown(variables, spec.terminationGracePeriodSeconds);
  const { port, adminPort } = readConfig(variables).http;
  const [{ ports }] = spec.containers;
  const numbers = Object.fromEntries(ports.map((one) => [one.name, one.containerPort]));
  if (numbers.http !== port || numbers.admin !== adminPort) {
    throw new Error(`the ports are ${port} and ${adminPort}, not those of the container`);
  }
  const users = ['NetworkPolicy', 'PodMonitor', 'Service'].map((kind) => resources.get(kind));
  const named = [...JSON.stringify(users).matchAll(/"(?:port|targetPort)":"(\w+)"/g)];
  const unknown = named.filter(([, name = '']) => !(name in numbers));
  if (unknown.length > 0) throw new Error(`the container has no port for ${unknown.join()}`);
}

/** Several pods with `memory` would send a write once each. */
function checkStore(resources: Resources): void {
  const { containers, volumes } = deploymentOf(resources).spec.template.spec;
  const [{ env, volumeMounts }] = containers;
  const file = env.find(({ name }) => name === 'IDEMPOTENCY_STORE_FILE')?.value;
  const mounted = volumeMounts.flatMap(({ name, mountPath }) =>
    volumes
      .filter((volume) => volume.name === name)
      .flatMap(({ secret }) => secret?.items.map(({ path }) => `${mountPath}/${path}`) ?? []),
  );
  if (file === undefined || !mounted.includes(file)) {
    throw new Error(`IDEMPOTENCY_STORE_FILE must name a mounted secret, not ${file}`);
  }
  if (env.some(({ name }) => name === 'IDEMPOTENCY_STORE')) {
    throw new Error('IDEMPOTENCY_STORE has a password: mount it');
  }
}

/** A file that is mounted alone keeps its first content. A policy and certificates must be folders. */
function checkMounts(resources: Resources): void {
  const { containers } = deploymentOf(resources).spec.template.spec;
  const alone = containers[0].volumeMounts.filter((mount) => 'subPath' in mount);
  if (alone.length > 0) throw new Error(`subPath: ${alone.map(({ name }) => name).join()}`);
}

/** An issuer that is down makes pods not ready. A liveness probe on /readyz would restart all of them. */
function checkProcess(resources: Resources): void {
  const isTrue = z.literal(true);
  const guarded = z.object({
    securityContext: z.object({
      allowPrivilegeEscalation: z.literal(false),
      readOnlyRootFilesystem: isTrue,
      capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
    }),
    resources: z.object({ limits: z.object({ memory: z.string() }) }),
    livenessProbe: probe('/livez'),
    readinessProbe: probe('/readyz'),
  });
  const securityContext = z.object({
    runAsNonRoot: isTrue,
    runAsUser: z.number().min(1).optional(),
    seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
  });
  const spec = z.object({
    automountServiceAccountToken: z.literal(false),
    securityContext,
    containers: z.tuple([guarded]),
  });
  z.object({ spec: z.object({ template: z.object({ spec }) }) }).parse(resources.get('Deployment'));
}

const recommended = ['name', 'instance', 'version', 'part-of', 'managed-by'];

function checkLabels(resources: Resources): void {
  const pods = deploymentOf(resources).spec.template.metadata;
  const labeled = [...resources].map(([kind, { metadata }]) => [kind, metadata.labels] as const);
  for (const [kind, labels] of [...labeled, ['pods', pods.labels] as const]) {
    const missing = recommended.filter((name) => !labels[`app.kubernetes.io/${name}`]);
    if (missing.length > 0) throw new Error(`${kind} lack the labels ${missing.join()}`);
  }
}

/** What selects pods, by kind. */
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

/** All select by the same two labels, of which none changes with a version. */
function checkSelectors(resources: Resources): void {
  const { metadata, spec } = deploymentOf(resources);
  const expected = JSON.stringify({
    'app.kubernetes.io/name': spec.template.metadata.labels['app.kubernetes.io/name'],
    'app.kubernetes.io/instance': spec.template.metadata.labels['app.kubernetes.io/instance'],
  });
  const found = Object.entries(selectors).flatMap(([kind, schema]) => {
    const resource = resources.get(kind);
    return resource === undefined ? [] : [[kind, z.object({ spec: schema }).parse(resource).spec]];
  });
  const spread = spec.template.spec.topologySpreadConstraints.map(
    ({ labelSelector }) => ['topologySpreadConstraints', labelSelector.matchLabels] as const,
  );
  for (const [kind, selector] of [...found, ...spread]) {
    if (JSON.stringify(selector) !== expected) {
      throw new Error(`${kind} selects ${JSON.stringify(selector)}`);
    }
  }
  const target = z.object({ kind: z.literal('Deployment'), name: z.literal(metadata.name) });
  z.object({ spec: z.object({ scaleTargetRef: target }) }).parse(
    resources.get('HorizontalPodAutoscaler'),
  );
}

/** `/graphql`, and nothing else, is reached by the name and the port of the Service. */
function checkRoutes(resources: Resources): void {
  const { metadata, spec } = z
    .object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ ports: z.tuple([port]) }),
    })
    .parse(resources.get('Service'));
  const name = z.literal(metadata.name);
  const service = z.object({ name, port: z.object({ name: z.literal('http') }) });
  const path = z.object({
    path: z.literal('/graphql'),
    pathType: z.literal('Exact'),
    backend: z.object({ service }),
  });
  const http = z.object({ paths: z.tuple([path]) });
  const match = z.object({
    path: z.object({ type: z.literal('Exact'), value: z.literal('/graphql') }),
  });
  const rule = z.object({
    matches: z.tuple([match]),
    backendRefs: z.tuple([z.object({ name, port: z.literal(spec.ports[0].port) })]),
  });
  const routes = {
    Ingress: z.object({ rules: z.tuple([z.object({ http })]) }),
    HTTPRoute: z.object({ rules: z.tuple([rule]) }),
  };
  for (const [kind, schema] of Object.entries(routes)) {
    const route = resources.get(kind);
    if (route !== undefined) z.object({ spec: schema }).parse(route);
  }
}

function checkSpread(resources: Resources): void {
  const { topologySpreadConstraints } = deploymentOf(resources).spec.template.spec;
  const keys = topologySpreadConstraints.map(({ topologyKey }) => topologyKey);
  for (const key of ['kubernetes.io/hostname', 'topology.kubernetes.io/zone']) {
    if (!keys.includes(key)) throw new Error(`no topologySpreadConstraint for ${key}`);
  }
}

/** A number in the Deployment would undo that of the autoscaler at each upgrade. */
function checkScale(resources: Resources): void {
  const { replicas, strategy } = deploymentOf(resources).spec;
  if (replicas !== undefined) throw new Error('the Deployment has replicas beside the autoscaler');
  const { maxReplicas } = z
    .object({ spec: z.object({ maxReplicas: z.number() }) })
    .parse(resources.get('HorizontalPodAutoscaler')).spec;
  const pods = maxReplicas + strategy.rollingUpdate.maxSurge;
  const variables = variablesOf(resources);
  const { maxConcurrency } = readConfig(own).service;
  const name = 'UPSTREAM_MAX_CONCURRENCY';
  const calls = pods * Number(variables[name] ?? maxConcurrency);
  if (!(calls <= maxConcurrency)) throw new Error(`${pods} pods send ${calls} calls: set ${name}`);
}

/** The port that a client of an address connects to. */
function portOf(address: string): number {
  const { port, protocol } = new URL(address);
  if (port !== '') return Number(port);
  return protocol === 'http:' ? 80 : 443;
}

function checkNetwork(resources: Resources): void {
  const rule = z.object({ to: z.array(z.unknown()).optional(), ports: z.array(port) });
  const { egress } = z
    .object({ spec: z.object({ egress: z.array(rule) }) })
    .parse(resources.get('NetworkPolicy')).spec;
  const dns = JSON.stringify(egress.filter(({ ports }) => ports.some(({ port }) => port === 53)));
  for (const needed of [
    'kube-dns',
    'node-local-dns',
    'openshift-dns',
    '169.254.20.10/32',
    '5353',
  ]) {
    if (!dns.includes(needed)) throw new Error(`DNS cannot reach ${needed}`);
  }
  const open = egress.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports);
  const addresses = Object.values(variablesOf(resources)).filter((one) => /^https?:/.test(one));
  for (const address of addresses) {
    const needed = portOf(address);
    if (!open.some(({ port }) => port === needed)) {
      throw new Error(`${address} needs the port ${needed}`);
    }
  }
}

/** The job and the namespace that the operator gives the metrics of the pods. */
function targetOf(resources: Resources): string {
  const { jobLabel } = z
    .object({ spec: z.object({ jobLabel: z.string() }) })
    .parse(resources.get('PodMonitor')).spec;
  const { labels } = deploymentOf(resources).spec.template.metadata;
  return `job="${labels[jobLabel]}", namespace="${resources.get('PodMonitor')?.metadata.namespace}"`;
}

const alerts = readFileSync(new URL('../prometheus/alerts.rules.yml', import.meta.url), 'utf8');
const count = (text: string, part: string) => text.split(part).length - 1;

/** The alerts are those of Prometheus without the operator, but for this release alone. */
function checkMonitoring(resources: Resources): void {
  const rule = z.object({ alert: z.string(), expr: z.string(), labels });
  const group = z.object({ rules: z.array(rule) });
  const manifest = resources.get('PrometheusRule');
  if (manifest === undefined) return;
  const { groups } = z.object({ spec: z.object({ groups: z.array(group) }) }).parse(manifest).spec;
  const rules = groups.flatMap((one) => one.rules);
  if (rules.length !== count(alerts, 'alert: ')) throw new Error(`${rules.length} alerts`);
  const expressions = rules.map(({ expr }) => expr).join('\n');
  const selected = count(expressions, targetOf(resources));
  const metrics = count(alerts.replaceAll(/^\s*#.*$/gm, ''), 'job="');
  if (selected !== metrics || count(expressions, 'job="') !== metrics) {
    throw new Error(`${selected} of ${metrics} selectors are ${targetOf(resources)}`);
  }
  const unnamed = rules.filter(({ labels }) => !labels.severity || !labels.environment);
  if (unnamed.length > 0) throw new Error(`${unnamed.length} alerts lack labels`);
}

const checks = {
  'variables, ports and grace period': checkVariables,
  'the store of idempotency keys is shared, and its password is no environment variable':
    checkStore,
  'changed files reach the pods': checkMounts,
  'the process has no rights, bounded memory, and probes of its own': checkProcess,
  'all resources and pods have the recommended labels': checkLabels,
  'everything that selects pods selects those of the release': checkSelectors,
  'only /graphql is reached from outside': checkRoutes,
  'pods are spread over nodes and zones': checkSpread,
  'all pods together send a service no more than one gateway by default': checkScale,
  'pods reach DNS and the ports of their URLs': checkNetwork,
  'the alerts select the job of the release': checkMonitoring,
};

/** What must hold for each rendering of the chart: functions that throw, by their names. */
export function checksOf(manifests: readonly Manifest[]): Map<string, () => void> {
  const resources = new Map(manifests.map((one) => [one.kind, one]));
  return new Map(Object.entries(checks).map(([name, run]) => [name, () => run(resources)]));
}
