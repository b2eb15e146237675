import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import {
  PodMonitor,
  PrometheusRule,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service, ServiceAccount } from 'kubernetes-models/v1';
import type { Manifest } from './chart.ts';

const models = new Map<string, new (...args: never[]) => object>(
  Object.entries({
    ConfigMap,
    Deployment,
    HTTPRoute,
    HorizontalPodAutoscaler,
    Ingress,
    NetworkPolicy,
    PodDisruptionBudget,
    PodMonitor,
    PrometheusRule,
    Service,
    ServiceAccount,
  }),
);

/** Throws unless a resource is valid by the schema of its kind. */
export function validate(manifest: Manifest): void {
  const model = models.get(manifest.kind);
  if (model === undefined) throw new Error(`no schema for ${manifest.kind}`);
  const resource: { validate(): void } = Reflect.construct(model, [manifest]);
  resource.validate();
}

function packageOf(apiVersion: string): string {
  if (apiVersion.startsWith('monitoring.')) return '@kubernetes-models/prometheus-operator';
  if (apiVersion.startsWith('gateway.')) return '@kubernetes-models/gateway-api';
  return 'kubernetes-models';
}

/**
 * Declares the resources for the compiler. It finds misspelled fields, which are no faults by the schemas.
 */
export function declare(manifests: readonly Manifest[]): string {
  const declarations = manifests.map(
    (manifest, n) =>
      `import type { I${manifest.kind} as Type${n} } from '${packageOf(manifest.apiVersion)}/${manifest.apiVersion}';
export const manifest${n}: Type${n} = ${JSON.stringify(manifest, undefined, 2)};\n`,
  );
  return declarations.join('\n');
}
