import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const manifest = z.object({ devDependencies: z.object({ node: z.string() }) });
const step = z.object({ uses: z.string().optional(), run: z.string().optional() });
const workflow = z.object({
  jobs: z.record(z.string(), z.object({ steps: z.array(step) })),
});
const text = read('.github/workflows/ci.yml');
const steps = Object.values(workflow.parse(parse(text)).jobs).flatMap((job) => job.steps);

test('the workflow runs .ci/run, the tests end to end, and what a user runs', () => {
  const commands = steps.flatMap(({ run }) => run ?? []);
  const installed = ['bash .ci/install-packages', 'npm run setup'];
  const endToEnd = [...installed, 'npm run e2e', 'npm run image:check', 'npm run proxies:check'];
  expect(commands).toEqual(['bash .ci/run', ...endToEnd, 'npm ci', 'npm test']);
});

test('the workflow names each action by its commit', () => {
  const actions = steps.flatMap(({ uses }) => uses ?? []);
  expect(actions.filter((uses) => !/@[0-9a-f]{40}$/.test(uses))).toEqual([]);
});

test.each(['.github/workflows/ci.yml', '.devcontainer/devcontainer.json'])(
  '%s has the Node of the packages',
  (path) => {
    const { node } = manifest.parse(JSON.parse(read('package.json'))).devDependencies;
    const versions = [...read(path).matchAll(/\bnode:([\d.]+)/g)].map(([, version]) => version);
    expect(versions.length).toBeGreaterThan(0);
    expect(new Set(versions)).toEqual(new Set([node]));
  },
);
