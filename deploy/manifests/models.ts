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

const models = {
  ...{ ConfigMap, Deployment, HTTPRoute, HorizontalPodAutoscaler, Ingress, NetworkPolicy },
  ...{ PodDisruptionBudget, PodMonitor, PrometheusRule, Service, ServiceAccount },
};
type Models = typeof models;

/** The resources of one rendering of the chart, by kind. */
export type Resources = { readonly [Kind in keyof Models]?: InstanceType<Models[Kind]> };

/** Throws unless each resource is valid by the schema of its kind. */
export function resourcesOf(manifests: readonly Manifest[]): Resources {
  return Object.fromEntries(
    manifests.map((manifest) => {
      const Model = Object.entries(models).find(([kind]) => kind === manifest.kind)?.[1];
      if (Model === undefined) throw new Error(`no schema for ${manifest.kind}`);
      const resource: InstanceType<Models[keyof Models]> = Reflect.construct(Model, [manifest]);
      resource.validate();
      return [manifest.kind, resource];
    }),
  );
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
