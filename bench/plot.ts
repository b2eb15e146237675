import * as echarts from 'echarts';
import type { Result } from './compare.ts';
import { median, roundsOf } from './table.ts';

const WIDTH = 860;
const HEIGHT = 340;
const colors: Record<string, string> = {
  apollo: '#8a8f98',
  other: '#c9b458',
  ours: '#1769aa',
  stack: '#7fb3d5',
};

/**
 * A picture (SVG) of the CPU time by number of callers, with a service of the kind `tls-silent`, like most real ones: one
 * panel for each workload, one bar for each peer.
 */
export function plotOf(results: readonly Result[]): string {
  const shown = results.filter(({ service }) => service.name === 'tls-silent');
  const titles = [...new Set(shown.map(({ workload }) => workload.title))];
  const counts = [...new Set(shown.map(({ workload }) => workload.callers))];
  const peers = shown[0]?.peers.map(({ peer }) => peer) ?? [];
  const panelWidth = 100 / titles.length;
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: HEIGHT,
  });
  chart.setOption({
    animation: false,
    backgroundColor: '#fff',
    textStyle: { fontFamily: 'sans-serif' },
    title: titles.map((text, panel) => ({
      text,
      left: `${panelWidth * (panel + 0.5)}%`,
      top: 34,
      textAlign: 'center',
      textStyle: { fontSize: 14 },
    })),
    legend: { top: 4, itemGap: 36 },
    grid: titles.map((_, panel) => ({
      left: `${panelWidth * panel + 7}%`,
      width: `${panelWidth - 9}%`,
      top: 80,
      bottom: 44,
    })),
    xAxis: titles.map((_, gridIndex) => ({
      gridIndex,
      type: 'category',
      data: counts.map((count) => count.toLocaleString('en')),
      name: 'callers',
      nameLocation: 'middle',
      nameGap: 26,
    })),
    yAxis: titles.map((_, gridIndex) => ({
      gridIndex,
      type: 'value',
      ...(gridIndex === 0 && {
        name: 'CPU µs per request',
        nameLocation: 'middle',
        nameGap: 44,
      }),
    })),
    series: titles.flatMap((title, panel) =>
      peers.map((peer) => ({
        name: peer.title,
        type: 'bar',
        silent: true,
        emphasis: { disabled: true },
        xAxisIndex: panel,
        yAxisIndex: panel,
        itemStyle: { color: colors[peer.name] ?? '#444' },
        label: { show: true, position: 'top', fontSize: 10 },
        data: counts.map((count) => {
          const isIt = ({ workload }: Result) =>
            workload.title === title && workload.callers === count;
          return Math.round(
            median(roundsOf(shown.filter(isIt), peer.name).map(({ cpuUs }) => cpuUs)),
          );
        }),
      })),
    ),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg}\n`;
}
