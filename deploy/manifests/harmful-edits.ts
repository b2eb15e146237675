import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chart, render } from './chart.ts';
import { checksOf } from './resources.ts';

/** An edit of a file of the chart, and words of the fault that Helm or a check must find. */
type Edit = [file: string, from: string | RegExp, to: string, fault: RegExp];

const pods = 'templates/deployment.yaml';
const container = 'templates/_helpers.tpl';
const selector = /\{\{- include "ledger-gateway.selector" [^}]+\}\}/;
const selectsNothing = (file: string): Edit => [
  `templates/${file}`,
  selector,
  'app: nothing',
  /selects \{"app":"nothing"\}/,
];

const edits: Record<string, Edit> = {
  'a process of root': [pods, 'runAsNonRoot: true', '', /runAsNonRoot/],
  'a file system that can be written': [container, 'readOnlyRootFilesystem: true', '', /readOnly/],
  'no limit of memory': [container, '{{- toYaml .Values.resources | nindent 2 }}', '', /limits/],
  'a default without a limit of memory': [
    'values.yaml',
    'limits: { memory: 1Gi }',
    'limits: {}',
    /limits\.memory is required/,
  ],
  'a liveness probe on /readyz': [
    pods,
    /(livenessProbe:[^/]+)\/livez/,
    '$1/readyz',
    /livenessProbe/,
  ],
  'a PodDisruptionBudget that selects nothing': selectsNothing('pod-disruption-budget.yaml'),
  'a Service that selects nothing': selectsNothing('service.yaml'),
  'a NetworkPolicy that selects nothing': selectsNothing('network-policy.yaml'),
  'a PodMonitor that selects nothing': selectsNothing('pod-monitor.yaml'),
  'a HorizontalPodAutoscaler that scales nothing': [
    'templates/horizontal-pod-autoscaler.yaml',
    /(kind: Deployment, name:) .+?\}\}/,
    '$1 other',
    /scaleTargetRef/,
  ],
  'a policy that is mounted as a single file': [
    container,
    'mountPath: /policy,',
    'mountPath: /policy/a, subPath: a,',
    /subPath: policy/,
  ],
  'alerts for all releases': [
    'templates/prometheus-rule.yaml',
    '| replace `job="ledger-gateway"` $job',
    '',
    /0 of \d+ selectors/,
  ],
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
function checkRejected([file, from, to, fault]: Edit): void {
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
