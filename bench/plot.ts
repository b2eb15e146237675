import * as echarts from 'echarts';
import { type CallersResult, callerCounts, serviceKinds } from './callers.ts';
import { median } from './table.ts';

const WIDTH = 860;
const HEIGHT = 340;
const colors: Record<string, string> = {
  apollo: '#8a8f98',
  against: '#c9b458',
  ours: '#1769aa',
  stack: '#7fb3d5',
};

/** The service of the picture: most real services have TLS, and do not announce how long they keep connections open. */
const [service] = serviceKinds.slice(-1);

/** A picture (SVG) of the CPU time by number of callers: one panel for each workload, one bar for each peer. */
export function plotOf(results: readonly CallersResult[]): string {
  const shown = results.filter((one) => one.service.name === service?.name);
  const workloads = [...new Set(shown.map(({ workload }) => workload))];
  const counts = callerCounts.filter((count) => shown.some(({ callers }) => callers === count));
  const peers = shown[0]?.peers.map(({ peer }) => peer) ?? [];
  const panelWidth = 100 / workloads.length;
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
    title: workloads.map(({ title }, panel) => ({
      text: title,
      left: `${panelWidth * (panel + 0.5)}%`,
      top: 34,
      textAlign: 'center',
      textStyle: { fontSize: 14 },
    })),
    legend: { top: 4, itemGap: 36 },
    grid: workloads.map((_, panel) => ({
      left: `${panelWidth * panel + 7}%`,
      width: `${panelWidth - 9}%`,
      top: 80,
      bottom: 44,
    })),
    xAxis: workloads.map((_, gridIndex) => ({
      gridIndex,
      type: 'category',
      data: counts.map((count) => count.toLocaleString('en')),
      name: 'callers',
      nameLocation: 'middle',
      nameGap: 26,
    })),
    yAxis: workloads.map((_, gridIndex) => ({
      gridIndex,
      type: 'value',
      ...(gridIndex === 0 && {
        name: 'CPU µs per request',
        nameLocation: 'middle',
        nameGap: 44,
      }),
    })),
    series: workloads.flatMap((workload, panel) =>
      peers.map((peer) => ({
        name: peer.title,
        type: 'bar',
        xAxisIndex: panel,
        yAxisIndex: panel,
        itemStyle: { color: colors[peer.name] ?? '#444' },
        label: { show: true, position: 'top', fontSize: 10 },
        data: counts.map((count) => {
          const result = shown.find((one) => one.workload === workload && one.callers === count);
          const rounds = result?.peers.find((one) => one.peer.name === peer.name)?.rounds ?? [];
          return Math.round(median(rounds.map(({ cpuUs }) => cpuUs)));
        }),
      })),
    ),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg}\n`;
}
