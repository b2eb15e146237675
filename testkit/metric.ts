import { setTimeout as sleep } from 'node:timers/promises';

type Labels = Record<string, string>;
type Sample = { name: string; labels: Labels; value: number };

/** Parses the Prometheus text format, without exemplars and timestamps. */
export function parseSamples(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
      return {
        name,
        labels: Object.fromEntries([...pairs].map(([, key = '', text = '']) => [key, text])),
        value: Number(value.replace('Inf', 'Infinity')),
      };
    });
}

/** The sum of the samples with this name and these labels. 0 if there are none. */
export function sumOf(text: string, name: string, labels: Labels = {}): number {
  return parseSamples(text)
    .filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}

/** The value of a gateway's metric, summed over the labels that are not given. */
export async function metric(
  gateway: { url: string },
  name: string,
  labels?: Labels,
): Promise<number> {
  const response = await fetch(`${gateway.url}/metrics`);
  return sumOf(await response.text(), name, labels);
}

/** Waits until a metric has a value. Metrics have no events, so this polls every 10 ms. */
export async function metricIs(
  gateway: { url: string },
  name: string,
  value: number,
  labels?: Labels,
): Promise<void> {
  while ((await metric(gateway, name, labels)) !== value) await sleep(10);
}
