import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import lock from '../../package-lock.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { repository } from '../pages.ts';

type Locked = { hasInstallScript?: boolean; gypfile?: boolean; optional?: boolean };

it('an installation runs no script of a dependency and compiles nothing', () => {
  const locked = Object.entries(lock.packages as Record<string, Locked>);
  expect(locked.length).toBeGreaterThan(50);
  expect(locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
  // npm drops this line when it writes the file: put it back.
  expect(locked.filter(([, { gypfile }]) => gypfile === false).map(([path]) => path)).toEqual([
    'node_modules/better-sqlite3',
  ]);
});

it('the package brings no Node, names one version, and starts with what an older Node can read', () => {
  expect(Object.keys(packageJson.dependencies).filter((name) => name.startsWith('node-linux'))).toEqual([]);
  expect(packageJson).not.toHaveProperty('optionalDependencies');
  expect(lock.packages[''].version).toBe(packageJson.version);
  const read = (path: string): string => readFileSync(new URL(path, repository), 'utf8');
  expect(read('src/main.ts')).toMatch(/^#!\/usr\/bin\/env node\nimport '\.\/start-up\.ts';\n/);
  // A module that is imported statically is linked before the check of the version runs, with the names that it takes.
  const text = ['main.ts', 'start-up.ts', 'core/heap.ts', 'core/needed-node.ts']
    .map((path) => read(`src/${path}`))
    .join('');
  const imports = [...text.matchAll(/^import ([^;]*'[^']+');$/gm)].map(([, what = '']) => what);
  expect(imports.toSorted()).toEqual([
    "'./start-up.ts'",
    "module from 'node:module'",
    "process from 'node:process'",
    "{ env, exit, stderr } from 'node:process'",
    "{ fileURLToPath } from 'node:url'",
    "{ fstatSync, writeFileSync } from 'node:fs'",
    "{ getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'",
    "{ getHeapStatistics, setFlagsFromString } from 'node:v8'",
    "{ growYoungGeneration } from './core/heap.ts'",
    "{ oldNode } from './core/needed-node.ts'",
    "{ runInNewContext } from 'node:vm'",
    "{ versions } from 'node:process'",
  ]);
});

it('what the tutorial makes in a checkout, with a key in it, reaches neither git nor an image', () => {
  const read = (path: string): string[] => readFileSync(new URL(path, repository), 'utf8').split('\n');
  const [, folder = ''] = /^mkdir (\w+) && cd \1$/m.exec(read('docs/start.md').join('\n')) ?? [];
  expect(folder).not.toBe('');
  expect(read('.gitignore')).toContain(`/${folder}/`);
  expect(read('.dockerignore')).toContain(folder);
});
