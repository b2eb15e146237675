import { deepStrictEqual, partialDeepStrictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readConfig } from '../../testkit/config.ts';
import type { Manifest } from './chart.ts';
import { type Resources, resourcesOf } from './models.ts';
import { checkShutdown, own } from './shutdown.ts';

/** The Deployment, with its pods and their container. */
function deploymentOf({ Deployment }: Resources) {
  const { metadata, spec } = Deployment ?? {};
  const pod = spec?.template.spec;
  const [container] = pod?.containers ?? [];
  if (!spec || !pod || !container) throw new Error('there is no Deployment with a container');
  const labels = spec.template.metadata?.labels ?? {};
  return { name: metadata?.name, spec, pod, labels, container };
}

/** The variables of the gateway. Those of files are left out, because the files are not here. */
function variablesOf(resources: Resources): Record<string, string> {
  const { env = [] } = deploymentOf(resources).container;
  const values = env.flatMap(({ name, value }) =>
    value === undefined || /_FILE$|^NODE_/.test(name) ? [] : [[name, value] as const],
  );
  return { IDEMPOTENCY_STORE: 'rediss://redis', ...Object.fromEntries(values) };
}

function checkVariables(resources: Resources): void {
  const { pod, container } = deploymentOf(resources);
  const variables = variablesOf(resources);
  checkShutdown(variables, pod.terminationGracePeriodSeconds ?? 0);
  const { port, adminPort } = readConfig(variables).http;
  const numbers = (container.ports ?? []).map(({ name = '', containerPort }) => [
    name,
    containerPort,
  ]);
  partialDeepStrictEqual(Object.fromEntries(numbers), { http: port, admin: adminPort });
  const { NetworkPolicy, PodMonitor, Service } = resources;
  const users = JSON.stringify([NetworkPolicy, PodMonitor, Service]);
  const named = [...users.matchAll(/"(?:port|targetPort)":"(\w+)"/g)].map(([, name]) => name);
  const unknown = named.filter((name) => !numbers.some(([known]) => known === name));
  if (unknown.length > 0) throw new Error(`the container has no port for ${unknown.join()}`);
}

/** Several pods with `memory` would send a write once each. */
function checkStore(resources: Resources): void {
  const { pod, container } = deploymentOf(resources);
  const { env = [], volumeMounts = [] } = container;
  const file = env.find(({ name }) => name === 'IDEMPOTENCY_STORE_FILE')?.value;
  const mounted = volumeMounts.flatMap(({ name, mountPath }) => {
    const secret = pod.volumes?.find((volume) => volume.name === name)?.secret;
    return secret?.items?.map(({ path }) => `${mountPath}/${path}`) ?? [];
  });
  if (file === undefined || !mounted.includes(file)) {
    throw new Error(`IDEMPOTENCY_STORE_FILE must name a mounted secret, not ${file}`);
  }
  if (env.some(({ name }) => name === 'IDEMPOTENCY_STORE')) {
    throw new Error('IDEMPOTENCY_STORE has a password: mount it');
  }
}

/** A file that is mounted alone keeps its first content. A policy and certificates must be folders. */
function checkMounts(resources: Resources): void {
  const { volumeMounts = [] } = deploymentOf(resources).container;
  const alone = volumeMounts.filter(({ subPath }) => subPath !== undefined);
  if (alone.length > 0) throw new Error(`subPath: ${alone.map(({ name }) => name).join()}`);
}

/** An issuer that is down makes pods not ready. A liveness probe on /readyz would restart all of them. */
function checkProcess(resources: Resources): void {
  const { pod, container } = deploymentOf(resources);
  partialDeepStrictEqual(pod, {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  });
  partialDeepStrictEqual(container, {
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
    livenessProbe: { httpGet: { path: '/livez' } },
    readinessProbe: { httpGet: { path: '/readyz' } },
  });
  deepStrictEqual(container.securityContext?.capabilities, { drop: ['ALL'] });
  if (pod.securityContext?.runAsUser === 0) throw new Error('runAsUser is root');
  if (!container.resources?.limits?.memory) throw new Error('limits have no memory');
}

/** All select by the same two labels, of which none changes with a version. */
function checkSelectors(resources: Resources): void {
  const { name, spec, pod, labels } = deploymentOf(resources);
  const { Service, NetworkPolicy, PodDisruptionBudget, PodMonitor } = resources;
  const { topologySpreadConstraints: spread = [] } = pod;
  const selected = ['name', 'instance'].map((label) => `app.kubernetes.io/${label}`);
  const expected = JSON.stringify(
    Object.fromEntries(selected.map((label) => [label, labels[label]])),
  );
  const found = {
    Deployment: spec.selector,
    Service: Service && { matchLabels: Service.spec?.selector },
    NetworkPolicy: NetworkPolicy?.spec?.podSelector,
    PodDisruptionBudget: PodDisruptionBudget?.spec?.selector,
    PodMonitor: PodMonitor?.spec.selector,
    ...Object.fromEntries(
      spread.map(({ topologyKey, labelSelector }) => [topologyKey, labelSelector]),
    ),
  };
  for (const [kind, selector] of Object.entries(found)) {
    const text = JSON.stringify(selector?.matchLabels);
    if (selector && text !== expected) throw new Error(`${kind} selects ${text}`);
  }
  const { scaleTargetRef } = resources.HorizontalPodAutoscaler?.spec ?? {};
  partialDeepStrictEqual({ scaleTargetRef }, { scaleTargetRef: { kind: 'Deployment', name } });
}

/** `/graphql`, and nothing else, is reached by the name and the port of the Service. */
function checkRoutes({ Service, Ingress, HTTPRoute }: Resources): void {
  const name = Service?.metadata?.name;
  const [{ port } = {}] = Service?.spec?.ports ?? [];
  const backend = { service: { name, port: { name: 'http' } } };
  const ingress = Ingress?.spec?.rules?.map(({ http }) => http?.paths);
  if (Ingress) deepStrictEqual(ingress, [[{ path: '/graphql', pathType: 'Exact', backend }]]);
  const path = { type: 'Exact', value: '/graphql' };
  const routes = HTTPRoute?.spec.rules?.map(({ matches, backendRefs }) => ({
    matches,
    backendRefs,
  }));
  const route = {
    matches: [{ path }],
    backendRefs: [{ group: '', kind: 'Service', name, port, weight: 1 }],
  };
  if (HTTPRoute) deepStrictEqual(routes, [route]);
}

/** A number in the Deployment would undo that of the autoscaler at each upgrade. */
function checkScale(resources: Resources): void {
  const { replicas, strategy } = deploymentOf(resources).spec;
  if (replicas !== undefined) throw new Error('the Deployment has replicas beside the autoscaler');
  const most = resources.HorizontalPodAutoscaler?.spec?.maxReplicas;
  const pods = Number(most) + Number(strategy?.rollingUpdate?.maxSurge);
  const { maxConcurrency } = readConfig(own).service;
  const name = 'UPSTREAM_MAX_CONCURRENCY';
  const calls = pods * Number(variablesOf(resources)[name] ?? maxConcurrency);
  if (!(calls <= maxConcurrency)) throw new Error(`${pods} pods send ${calls} calls: set ${name}`);
}

/** The port that a client of an address connects to. */
function portOf(address: string): number {
  const { port, protocol } = new URL(address);
  if (port !== '') return Number(port);
  return protocol === 'http:' ? 80 : 443;
}

function checkNetwork(resources: Resources): void {
  const { egress = [] } = resources.NetworkPolicy?.spec ?? {};
  const dns = JSON.stringify(egress.filter(({ ports }) => ports?.some(({ port }) => port === 53)));
  const ofDns = ['kube-dns', 'node-local-dns', 'openshift-dns', '169.254.20.10/32', '5353'];
  const missing = ofDns.filter((needed) => !dns.includes(needed));
  if (missing.length > 0) throw new Error(`DNS cannot reach ${missing.join()}`);
  const open = egress.flatMap(({ to, ports = [] }) => (to === undefined ? ports : []));
  const addresses = Object.values(variablesOf(resources)).filter((one) => /^https?:/.test(one));
  for (const address of addresses) {
    const needed = portOf(address);
    if (!open.some(({ port }) => port === needed)) {
      throw new Error(`${address} needs the port ${needed}`);
    }
  }
}

const alerts = readFileSync(new URL('../prometheus/alerts.rules.yml', import.meta.url), 'utf8');
const count = (text: string, part: string) => text.split(part).length - 1;

/** The alerts are those of Prometheus without the operator, but for this release alone. */
function checkMonitoring(resources: Resources): void {
  const { PodMonitor, PrometheusRule } = resources;
  if (!PrometheusRule) return;
  const rules = PrometheusRule.spec?.groups?.flatMap((group) => group.rules ?? []) ?? [];
  if (rules.length !== count(alerts, 'alert: ')) throw new Error(`${rules.length} alerts`);
  // The operator gives the metrics of the pods this job and namespace.
  const job = deploymentOf(resources).labels[PodMonitor?.spec.jobLabel ?? ''];
  const target = `job="${job}", namespace="${PodMonitor?.metadata?.namespace}"`;
  const expressions = rules.map(({ expr }) => expr).join('\n');
  const selected = count(expressions, target);
  const metrics = count(alerts.replaceAll(/^\s*#.*$/gm, ''), 'job="');
  if (selected !== metrics || count(expressions, 'job="') !== metrics) {
    throw new Error(`${selected} of ${metrics} selectors are ${target}`);
  }
  const unnamed = rules.filter(({ labels }) => !labels?.severity || !labels.environment);
  if (unnamed.length > 0) throw new Error(`${unnamed.length} alerts lack labels`);
}

const checks = {
  'variables, ports and grace period': checkVariables,
  'the store of idempotency keys is shared, and its password is no environment variable':
    checkStore,
  'changed files reach the pods': checkMounts,
  'the process has no rights, bounded memory, and probes of its own': checkProcess,
  'everything that selects pods selects those of the release': checkSelectors,
  'only /graphql is reached from outside': checkRoutes,
  'all pods together send a service no more than one gateway by default': checkScale,
  'pods reach DNS and the ports of their URLs': checkNetwork,
  'the alerts select the job of the release': checkMonitoring,
};

/** What must hold for each rendering of the chart: functions that throw, by their names. */
export function checksOf(manifests: readonly Manifest[]): Map<string, () => void> {
  const resources = resourcesOf(manifests);
  return new Map(Object.entries(checks).map(([name, run]) => [name, () => run(resources)]));
}
