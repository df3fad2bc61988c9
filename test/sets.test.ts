import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import browser from '../config/vitest.browser.config.ts';
import cluster from '../config/vitest.cluster.config.ts';
import both from '../config/vitest.config.ts';
import engines from '../config/vitest.engines.config.ts';
import slow from '../config/vitest.slow.config.ts';
import packageJson from '../package.json' with { type: 'json' };

type Patterns = { include?: string[]; exclude?: string[] };

const projects = [both, cluster].flatMap(({ test: set }) => set?.projects as { test: Patterns & { name: string } }[]);
/** Every set of tests, by its name, with the patterns of its files. */
const sets: Record<string, Patterns> = {
  ...Object.fromEntries(projects.map(({ test: { name, ...patterns } }) => [name, patterns])),
  slow: slow.test ?? {},
  browser: browser.test ?? {},
  engines: engines.test ?? {},
};

function filesOf({ include = [], exclude = [] }: Patterns): string[] {
  const left = new Set(exclude.flatMap((pattern) => globSync(pattern)));
  return include.flatMap((pattern) => globSync(pattern)).filter((path) => !left.has(path));
}

test('every test file belongs to exactly one set', () => {
  const listed = Object.values(sets).flatMap(filesOf);
  expect(listed.toSorted()).toEqual(globSync('test/**/*.test.ts').toSorted());
});

test('every set has files and a script', () => {
  expect(Object.keys(sets)).toEqual(['fast', 'long', 'cluster', 'cluster-large', 'slow', 'browser', 'engines']);
  for (const patterns of Object.values(sets)) expect(filesOf(patterns).length).toBeGreaterThan(0);
  expect(packageJson.scripts).toMatchObject({
    test: expect.stringMatching(/vitest\.config\.ts --project fast$/),
    'test:rest': expect.stringMatching(/vitest\.config\.ts --project long$/),
    'test:all': expect.stringMatching(/vitest\.config\.ts$/),
    'test:slow': expect.stringMatching(/vitest\.slow\.config\.ts$/),
    'test:engines': expect.stringMatching(/vitest\.engines\.config\.ts$/),
    'test:browser': expect.stringMatching(/vitest\.browser\.config\.ts$/),
    'test:cluster': expect.stringMatching(/vitest\.cluster\.config\.ts$/),
  });
});

/** Fields of an expected object that are a bare pattern: `toMatchObject` takes it for an object without fields, which any text is. */
function barePatterns(words: string): string[] {
  return words.match(/\b(?:message|hint|cause|finding|stdout|stderr): \/(?:[^/\n\\]|\\.)+\/(?=[ ,}\n])/g) ?? [];
}

test('no text is held against a bare pattern, which would hold nothing', () => {
  expect(globSync('test/**/*.ts').flatMap((path) => barePatterns(readFileSync(path, 'utf8')))).toEqual([]);
  const planted = ['message', '/has no \\/ end/ }'].join(': ');
  expect(barePatterns(planted)).toHaveLength(1);
});
