import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

/** The alerts of prometheus/alerts.rules.yml as a PrometheusRule, the resource of the Prometheus Operator. */
export function prometheusRule() {
  const alerts = readFileSync(new URL('prometheus/alerts.rules.yml', import.meta.url), 'utf8');
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'ledger-gateway' },
    spec: parse(alerts) as unknown,
  };
}

// `npm run --silent prometheus-rule | kubectl apply -f -`
if (import.meta.main) process.stdout.write(stringify(prometheusRule()));
