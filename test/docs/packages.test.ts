import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));
const exclude = (path: string) => path.includes('node_modules');
const find = (name: string) => globSync(`**/${name}`, { cwd: root, exclude }).sort();
const read = (path: string): unknown => JSON.parse(readFileSync(`${root}${path}`, 'utf8'));

const versions = z.record(z.string(), z.string()).default({});
const manifest = z.object({
  dependencies: versions,
  devDependencies: versions,
  overrides: versions,
  workspaces: z.array(z.string()).default([]),
});
const lock = z.object({
  packages: z.record(z.string(), z.object({ resolved: z.string().optional() })),
});

const manifests = find('package.json');
const { workspaces, dependencies } = manifest.parse(read('package.json'));
/** Packages that the gateway itself needs, so that npm installs their dependencies with its own (docs/decisions/0022). */
const parts = Object.values(dependencies)
  .filter((version) => version.startsWith('file:'))
  .map((version) => version.replace('file:', ''));

test('every package is a workspace, or a part of the gateway, and all share one lockfile', () => {
  const paths = [
    'package.json',
    ...[...workspaces, ...parts].map((path) => `${path}/package.json`),
  ];
  expect(manifests).toEqual(paths.sort());
  expect(find('package-lock.json')).toEqual(['package-lock.json']);
});

test.each(manifests)('%s pins every version', (path) => {
  const { dependencies, devDependencies, overrides } = manifest.parse(read(path));
  const all = Object.entries({ ...dependencies, ...devDependencies, ...overrides });
  const pinned = /^(?:\d+\.\d+\.\d+(?:-[\w.]+)?|file:.*)$/;
  expect(all.filter(([, version]) => !pinned.test(version))).toEqual([]);
});

test('the lockfile names no registry', () => {
  const { packages } = lock.parse(read('package-lock.json'));
  const places = Object.values(packages).flatMap(({ resolved }) => resolved ?? []);
  expect(places.sort()).toEqual([...workspaces, ...parts].sort());
});
