import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../src/contract/endpoints.ts';
import { found, repository, wordsOf } from './pages.ts';

const readme = wordsOf('README.md');

/** The endpoint table as it has to stand in the page of the sandbox, from the one table in `src/contract`. */
const endpointTable = [
  '| endpoint | name | status | scope |',
  '|---|---|---|---|',
  ...endpointNames.map((name) => {
    const { method, path, status, response, scope } = endpoints[name];
    const answer = `${status}${response === null ? ', no body' : ''}`;
    return `| ${method} \`${path}\` | \`${name}\` | ${answer} | ${scope === null ? 'any key' : `\`${scope}\``} |`;
  }),
].join('\n');

describe('the README', () => {
  it('shows both commands near its top', () => {
    const top = readme.split('\n').slice(0, 15).join('\n');
    expect(top).toContain('npm ci && npm run demo');
    expect(top).toContain('npm ci && npm test');
  });

  it('and its pages name only files that are there', () => {
    const pages = ['README.md', 'docs/sandbox.md', 'docs/configuration.md', 'docs/complete-passes.md'];
    const named = pages.flatMap((page) =>
      found(wordsOf(page), /`((?:src|test|config|docs)\/[\w./-]+)`/g).map((path) => path),
    );
    expect(named.length).toBeGreaterThan(3);
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

describe('the page of the sandbox', () => {
  it('has the endpoint table of the contract', () => {
    expect(wordsOf('docs/sandbox.md')).toContain(endpointTable);
  });
});
