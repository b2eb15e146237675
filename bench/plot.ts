import * as echarts from 'echarts';
import type { Result } from './compare.ts';
import { labelOf, median, roundsOf } from './table.ts';

const colors: Record<string, string> = {
  apollo: '#8a8f98',
  other: '#c9b458',
  ours: '#1769aa',
  stack: '#7fb3d5',
};

/**
 * A picture (SVG) of the CPU time by workload and number of callers, with a service of the kind `tls-silent`, like most real
 * ones: one bar for each peer.
 */
export function plotOf(results: readonly Result[]): string {
  const shown = results
    .filter(({ service }) => service.name === 'tls-silent')
    .toSorted((a, b) => a.workload.title.localeCompare(b.workload.title));
  const options = { renderer: 'svg', ssr: true, width: 860, height: 340 } as const;
  const chart = echarts.init(null, null, options);
  chart.setOption({
    animation: false,
    backgroundColor: '#fff',
    textStyle: { fontFamily: 'sans-serif' },
    legend: { top: 4, itemGap: 36 },
    grid: { left: 60, right: 12, top: 44, bottom: 60 },
    xAxis: {
      type: 'category',
      data: shown.map((one) => labelOf(one, '\n')),
      axisLabel: { interval: 0, width: 120, overflow: 'break' },
    },
    yAxis: { type: 'value', name: 'CPU µs per request', nameLocation: 'middle', nameGap: 44 },
    series: shown[0]?.peers.map(({ peer }) => ({
      name: peer.title,
      type: 'bar',
      silent: true,
      itemStyle: { color: colors[peer.name] ?? '#444' },
      label: { show: true, position: 'top', fontSize: 10 },
      data: shown.map((one) =>
        Math.round(median(roundsOf(one, peer.name).map(({ cpuUs }) => cpuUs))),
      ),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg}\n`;
}
