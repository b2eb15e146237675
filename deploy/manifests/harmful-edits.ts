import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chart, render } from './chart.ts';
import { checksOf } from './resources.ts';

/** An edit of the chart, and words of the fault that Helm or a check must find. */
interface Edit {
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
  readonly fault: RegExp;
}

const ofDeployment = (from: string, to: string, fault: RegExp): Edit => ({
  file: 'templates/deployment.yaml',
  from,
  to,
  fault,
});

const ofContainer = (from: string, to: string, fault: RegExp): Edit => ({
  ...ofDeployment(from, to, fault),
  file: 'templates/_helpers.tpl',
});

const selectsNothing = (file: string): Edit => ({
  file: `templates/${file}`,
  from: /\{\{- include "ledger-gateway.selector" [^}]+\}\}/,
  to: 'app: nothing',
  fault: /selects \{"app":"nothing"\}/,
});

const edits: Record<string, Edit> = {
  'a process of root': ofDeployment('runAsNonRoot: true', 'runAsNonRoot: false', /runAsNonRoot/),
  'a root file system that can be written': ofContainer(
    'readOnlyRootFilesystem: true',
    'readOnlyRootFilesystem: false',
    /readOnlyRootFilesystem/,
  ),
  'no limit of memory': ofContainer(
    '{{- toYaml .Values.resources | nindent 2 }}',
    'requests: { cpu: 500m }',
    /limits/,
  ),
  'a default without a limit of memory': {
    file: 'values.yaml',
    from: 'limits: { memory: 1Gi }',
    to: 'limits: {}',
    fault: /resources\.limits\.memory is required/,
  },
  'a liveness probe on /readyz': ofDeployment(
    'livenessProbe:\n            httpGet: { path: /livez',
    'livenessProbe:\n            httpGet: { path: /readyz',
    /livenessProbe/,
  ),
  'a PodDisruptionBudget that selects nothing': selectsNothing('pod-disruption-budget.yaml'),
  'a Service that selects nothing': selectsNothing('service.yaml'),
  'a NetworkPolicy that selects nothing': selectsNothing('network-policy.yaml'),
  'a PodMonitor that selects nothing': selectsNothing('pod-monitor.yaml'),
  'a HorizontalPodAutoscaler that scales nothing': {
    file: 'templates/horizontal-pod-autoscaler.yaml',
    from: /(kind: Deployment, name:) .+?\}\}/,
    to: '$1 other',
    fault: /scaleTargetRef/,
  },
  'a policy that is mounted as a single file': ofContainer(
    'mountPath: /policy,',
    'mountPath: /policy/policy.json, subPath: policy.json,',
    /subPath: policy/,
  ),
  'alerts for all releases': {
    file: 'templates/prometheus-rule.yaml',
    from: '| replace `job="ledger-gateway"` $job',
    to: '',
    fault: /0 of \d+ selectors/,
  },
};

/** The first fault of a chart: what Helm or a check throws. */
function faultOf(folder: string): string | undefined {
  try {
    const manifests = render(['manifests/values/everything.yaml'], [], folder);
    for (const run of checksOf(manifests).values()) run();
  } catch (error) {
    return String(error);
  }
  return undefined;
}

/** Throws unless the chart with an edit has the fault that is expected. */
function checkRejected({ file, from, to, fault }: Edit): void {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  try {
    cpSync(chart, folder, { recursive: true });
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`${file} has no ${from}`);
    writeFileSync(path, edited);
    const found = faultOf(folder);
    if (found === undefined || !fault.test(found)) throw new Error(`finds ${found ?? 'nothing'}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** For each edit, by a name, a function that throws unless the checks reject it. */
export function rejections(): Map<string, () => void> {
  return new Map(Object.entries(edits).map(([name, edit]) => [name, () => checkRejected(edit)]));
}
