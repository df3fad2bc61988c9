import { existsSync, globSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { found, repository, wordsOf } from './pages.ts';

const readme = wordsOf('README.md');

describe('the README', () => {
  it('shows both commands near its top', () => {
    const top = readme.split('\n').slice(0, 15).join('\n');
    expect(top).toContain('npm ci && npm run demo');
    expect(top).toContain('npm ci && npm test');
  });

  it('and its pages name only files that are there', () => {
    const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: repository })];
    const named = pages.flatMap((page) =>
      found(wordsOf(page), /`((?:src|test|config|docs(?!\/secrets))\/[\w./-]+)`/g).map((path) => path),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !existsSync(new URL(path, repository)))).toEqual([]);
  });
});

it('the top of the repository holds nothing but what CONTRIBUTING says', () => {
  const ignored = ['node_modules', 'data', 'dist', 'mirror'];
  const entries = readdirSync(repository).filter((name) => !name.startsWith('.') && !ignored.includes(name));
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'Dockerfile', 'LICENSE'];
  const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];
  const folders = ['src', 'test', 'config', 'docs'];
  expect(entries.filter((name) => !/\.(?:tsbuildinfo|tgz)$/.test(name)).toSorted()).toEqual(
    [...files, ...pages, ...folders].toSorted(),
  );
});
