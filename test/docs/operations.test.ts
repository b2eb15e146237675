import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parseSync, Visitor } from 'oxc-parser';
import { parse } from 'yaml';
import { z } from 'zod';
import { logMessages } from '../../deploy/promises.ts';
import { currentState } from '../../src/request-state.ts';
import { read } from '../../testkit/graphql-operation.ts';
import { textOfLog } from '../../testkit/log-recorder.ts';
import { reply, success } from '../../testkit/service.ts';
import { startStack } from '../support/stack.ts';
import { anchorsOf } from './anchors.ts';

const docs = new URL('../../docs/', import.meta.url);
const text = (path: string) => readFileSync(new URL(path, docs), 'utf8');

const matching = (pattern: RegExp) => z.string().regex(pattern);
const rule = z.strictObject({
  alert: matching(/^LedgerGateway\w+$/),
  expr: z.string(),
  for: matching(/^\d+[smh]$/).optional(),
  labels: z.strictObject({ severity: matching(/^(page|ticket|\{\{.*\}\})$/) }),
  annotations: z.strictObject({ summary: z.string(), runbook_url: z.url() }),
});
const rules = z
  .object({ groups: z.array(z.object({ rules: z.array(rule) })) })
  .parse(parse(text('../deploy/prometheus/alerts.rules.yml')))
  .groups.flatMap((group) => group.rules);

/** Alerts that page, some of which are tickets at first. */
const pages = rules.filter(({ labels }) => labels.severity !== 'ticket');
const tickets = rules.filter((rule) => !pages.includes(rule));

const panel = z.object({
  id: z.number(),
  title: z.string(),
  description: z.string().min(1),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(z.object({ expr: z.string() })).min(1),
});
const dashboard = z
  .object({
    title: z.string(),
    uid: z.string(),
    links: z.array(z.object({ url: z.url() })),
    panels: z.array(panel).min(1),
  })
  .parse(JSON.parse(text('../deploy/grafana/dashboard.json')));

const keywords = new Set(
  'and or unless by without on ignoring group_left group_right offset bool'.split(' '),
);

/** The metrics and labels in a PromQL expression. */
function usesOf(expr: string) {
  const groups = /\{([^}]*)\}|\b(?:by|without)\s*\(([^)]*)\)/g;
  const bare = expr.replaceAll(/"[^"]*"/g, '');
  const labels = [...bare.matchAll(groups)].flatMap(
    ([, matchers, names]) => (matchers ?? names)?.match(/\w+/g) ?? [],
  );
  const stripped = bare.replaceAll(groups, '').replaceAll(/\[[^\]]*\]|\boffset\s+\w+/g, '');
  // A name in front of a parenthesis is a function.
  const metrics = (stripped.match(/\b[a-z_]\w*\b(?!\s*\()/g) ?? []).filter(
    (name) => !keywords.has(name),
  );
  return { metrics, labels };
}

const expressions = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({ where: title, expr })),
  ),
];

/** The names and labels of the metrics that a gateway exposes after reads, shared reads and failures. */
async function exposed() {
  const { gateway, respondWith } = await startStack(success);
  await Promise.all([gateway.graphql(read), gateway.graphql(read)]);
  respondWith(reply(503));
  await gateway.graphql(read);
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  const declared = [...metrics.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  );
  const labels = [...metrics.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
  // Prometheus itself adds `up` and these labels.
  const added = ['instance', 'job', 'namespace'];
  const ofServices = [...metrics.matchAll(/^(\w+)\{(?:.+,)?service="/gm)].map(([, name]) => name);
  return {
    metrics: new Set([...declared, 'up']),
    labels: new Set([...labels, ...added]),
    /** The metrics that each service of the gateway has of its own. */
    ofServices: new Set(ofServices),
  };
}

test('alerts and dashboard use only metrics and labels that the gateway exposes', async () => {
  const { metrics, labels } = await exposed();
  const unknown = expressions.flatMap(({ where, expr }) => {
    const uses = usesOf(expr);
    expect([where, uses.metrics]).not.toEqual([where, []]);
    return [
      ...uses.metrics.filter((name) => !metrics.has(name)),
      ...uses.labels.filter((label) => !labels.has(label)),
    ].map((name) => `${where}: ${name}`);
  });
  expect(unknown).toEqual([]);
});

test('every metric of an alert and of the dashboard is that of one job, so that other environments and teams do not count', () => {
  const all = [
    ...rules.map(({ alert, expr }) => [alert, expr, 'job="ledger-gateway"'] as const),
    ...dashboard.panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => [title, expr, 'job="$job",namespace=~"$namespace"'] as const),
    ),
  ];
  for (const [where, expr, job] of all) {
    const selectors = [...expr.matchAll(/\b(?:ledger_gateway|nodejs|process|up)\w*(.?)([^}]*)/g)];
    expect([where, selectors.length]).not.toEqual([where, 0]);
    const others = selectors.filter(
      ([, brace, labels]) => brace !== '{' || !labels?.startsWith(job),
    );
    expect([where, others]).toEqual([where, []]);
  }
});

test('the dashboard tells services apart', async () => {
  const { ofServices } = await exposed();
  expect(ofServices.size).toBeGreaterThan(2);
  const joined = expressions.filter(({ expr }) => {
    const { metrics, labels } = usesOf(expr);
    return metrics.some((name) => ofServices.has(name)) && !labels.includes('service');
  });
  expect(joined).toEqual([]);
});

test('every metric of the gateway is a row of the reference, and used on the dashboard', async () => {
  const { metrics } = await exposed();
  const page = section(text('reference/metrics.md'), 'Metrics');
  const names = [...page.matchAll(/`([a-z_]+)(?:\{[^}]*\})?`/g)];
  const documented = new Set(names.map(([, name = '']) => name));
  const shown = new Set(
    dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => usesOf(expr).metrics)),
  );
  for (const name of metrics) {
    const family = name.replace(/_(bucket|count|sum)$/, '');
    if (!family.startsWith('ledger_gateway_')) continue;
    expect(documented).toContain(family.replace('ledger_gateway_', ''));
    expect([...shown].some((metric) => metric.startsWith(family))).toBe(true);
  }
});

/** The part of a page below one of its headings of the second level. */
function section(page: string, heading: string): string {
  const [, rest = ''] = page.split(`\n## ${heading}\n`);
  return rest.split('\n## ')[0] ?? '';
}

const onCall = text('on-call.md');

test.each([
  { heading: 'Alerts that page', alerts: pages },
  { heading: 'Tickets', alerts: tickets },
])('the rows or items of $heading are the alerts', ({ heading, alerts }) => {
  const [list = ''] = section(onCall, heading).split('\n### ');
  const rows = list.matchAll(/^(?:\| `(\w+)` \||- `(\w+)`:)/gm);
  const named = [...rows].map(([, row, item]) => `LedgerGateway${row ?? item}`);
  expect(named.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

test('a night on call names a panel of the dashboard for each alert, and the dashboard links to it', () => {
  const [table = ''] = section(onCall, 'Alerts that page').split('\n### ');
  const named = [...table.matchAll(/^\| `\w+` \|.*\| (.+?) \|$/gm)].map(([, title]) => title);
  expect(named).toHaveLength(pages.length);
  expect(dashboard.panels.map(({ title }) => title)).toEqual(expect.arrayContaining(named));
  const [runbook] = rules.map(({ annotations }) => annotations.runbook_url.split('#')[0]);
  expect(dashboard.links.map(({ url }) => url)).toEqual([runbook]);
});

test('a night on call has at most nine alerts that page', () => {
  expect(pages.length).toBeLessThanOrEqual(9);
});

test('the runbook of an alert that pages is its section, that of a ticket the list of tickets', () => {
  const anchors = anchorsOf(onCall);
  for (const { alert, annotations } of rules) {
    const { pathname, hash } = new URL(annotations.runbook_url);
    const isTicket = tickets.some((ticket) => ticket.alert === alert);
    const anchor = isTicket ? 'tickets' : alert.replace('LedgerGateway', '').toLowerCase();
    expect([alert, pathname.endsWith('/docs/on-call.md'), hash]).toEqual([
      alert,
      true,
      `#${anchor}`,
    ]);
    expect(anchors).toContain(anchor);
  }
});

/** The tests of the rules for promtool, with their cases in the order of time. */
const ruleTest = z.object({
  name: z.string(),
  alert_rule_test: z.array(
    z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()).optional() }),
  ),
});
const ruleTests = ['alerts', 'alerts-hours'].flatMap((name) => {
  const file = parse(text(`../deploy/prometheus/${name}.test.yml`));
  return z.object({ tests: z.array(ruleTest) }).parse(file).tests;
});

/** What the cases of an alert in a test expect, in the order of time. */
const expectationsOf = ({ alert_rule_test }: z.infer<typeof ruleTest>, alert: string) =>
  alert_rule_test
    .filter(({ alertname }) => alertname === alert)
    .map(({ exp_alerts }) => (exp_alerts === undefined ? 'silent' : 'fires'));

test.each(rules)('a test of $alert is silent, fires, and is silent again', ({ alert }) => {
  const sequences = ruleTests.map((one) => expectationsOf(one, alert).join(' '));
  expect(sequences).toContainEqual(expect.stringMatching(/^(silent )+(fires )+silent/));
});

test.each(rules)('$alert is silent at the deployment of a new installation', ({ alert }) => {
  const deployments = ruleTests.filter(({ name }) => name === 'a new installation');
  const expected = deployments.flatMap((one) => expectationsOf(one, alert));
  expect(new Set(expected)).toEqual(new Set(['silent']));
});

test('alerts and panels are unique', () => {
  const { panels } = dashboard;
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
  for (const all of [rules.map(({ alert }) => alert), panels.map(({ id }) => String(id)), places]) {
    expect(new Set(all).size).toBe(all.length);
  }
});

test('what an operator does is said for every error code', () => {
  const rows = section(text('reference/errors.md'), 'Codes').matchAll(/^\| `([A-Z_]+)` \|/gm);
  const codes = [...rows].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(15);
  const items = section(text('reference/log-lines.md'), 'Codes').matchAll(
    /^- ((?:`[A-Z_]+`(?:,\s+)?)+):\s/gm,
  );
  const named = [...items].flatMap(([, names = '']) => names.replaceAll('`', '').split(/,\s+/));
  expect(named).toEqual(expect.arrayContaining(codes));
});

/** The messages of a file: literals and constants. Where one is neither, each sentence of the file may be it. */
function messagesOf(path: string): string[] {
  const { program } = parseSync(path, readFileSync(path, 'utf8'));
  const messages: string[] = [];
  const sentences: string[] = [];
  const constants = new Map<string, string>();
  let hasOthers = false;
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type !== 'Identifier' || init?.type !== 'Literal') return;
      constants.set(id.name, String(init.value));
    },
    Literal({ value }) {
      if (typeof value === 'string' && /\w \w+ \w/.test(value)) sentences.push(value);
    },
    CallExpression({ callee, arguments: given }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      if (!/^(info|warn|error|fatal)$/.test(callee.property.name)) return;
      const message = given.at(-1);
      const constant = message?.type === 'Identifier' && constants.get(message.name);
      if (message?.type === 'Literal') messages.push(String(message.value));
      else if (constant) messages.push(constant);
      else hasOthers = true;
    },
  }).visit(program);
  return hasOthers ? [...messages, ...sentences] : messages;
}

/** The fields of a line in version 1.0.0. */
const releasedFields = ['level', 'time', 'traceId', 'msg'];

test('the pages name the fields that every line has, and the changelog those that are new', () => {
  const state = { requestId: '1', traceId: 'a', spanId: 'b', errorCodes: [], fields: new Map() };
  const said = textOfLog((log) =>
    currentState.run({ ...state, writes: [] }, () => log.warn('said')),
  );
  const table = section(text('reference/log-lines.md'), 'Format');
  const line: Record<string, unknown> = JSON.parse(said);
  const fields = Object.keys(line);
  expect(fields.length).toBeGreaterThan(4);
  expect(fields.filter((field) => !table.includes(`\`${field}\``))).toEqual([]);
  const added = fields.filter((field) => !releasedFields.includes(field));
  const changelog = text('../CHANGELOG.md');
  expect(added.filter((field) => !changelog.includes(`\`${field}\``))).toEqual([]);
  const message = `\`${fields.find((field) => line[field] === 'said')}\``;
  expect(text('reference/log-lines.md')).toContain(`| ${message} (level) |`);
  expect(text('../SECURITY.md')).toContain(`the messages (${message})`);
});

const logged = new Set(
  globSync(fileURLToPath(new URL('../{src,packages/at-most-once/src}/**/*.ts', docs))).flatMap(
    messagesOf,
  ),
);

test('the page of an audit searches for messages that the gateway logs', () => {
  const [, pattern = ''] = /"msg":"(.+?)"/.exec(text('how-to/audit.md')) ?? [];
  const found = [...logged].filter((message) => new RegExp(`^${pattern}$`).test(message));
  expect(found.sort()).toEqual(['audit lines dropped', 'log lines dropped']);
});

test('the table of log lines has every message that the gateway logs, and no other', () => {
  expect(logged.size).toBeGreaterThan(20);
  const documented = logMessages();
  expect([...logged].filter((message) => !documented.includes(message))).toEqual([]);
  // Both servers of Fastify say where they listen.
  const own = documented.filter((one) => !one.startsWith('Server listening'));
  expect(own.filter((message) => !logged.has(message))).toEqual([]);
});
