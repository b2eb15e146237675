import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { closeAfterTest } from '../../testkit/cleanup.ts';

const script = fileURLToPath(new URL('../../examples/federation/start-graph.ts', import.meta.url));

test('the graph of the tutorial composes, and its budgets have the ids of codes', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'graph-'));
  closeAfterTest(() => rm(cwd, { recursive: true }));
  const env = { ...process.env, GATEWAY_URL: 'http://gateway.example/graphql', BUDGETS_PORT: '0' };
  const child = spawn(process.execPath, [script], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closeAfterTest(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const lines: string[] = [];
  for await (const data of child.stdout.iterator({ destroyOnReturn: false })) {
    lines.push(`${data}`);
    if (lines.join('').includes('supergraph.graphql')) break;
  }
  const [url = ''] = /http:\S+\//.exec(lines.join('')) ?? [];

  const supergraph = await readFile(join(cwd, 'supergraph.graphql'), 'utf8');
  expect(supergraph).toContain(`url: "http://gateway.example/graphql"`);
  expect(supergraph).toContain(`url: "${url}"`);
  const query = '{ budgets { id glCode { id } } }';
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) });
  expect(await response.json()).toMatchObject({
    data: { budgets: [{ glCode: { id: '5/north-plant/4010' } }, {}] },
  });
});
