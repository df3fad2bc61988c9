import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { endpointNames, endpoints } from '../src/contract/endpoints.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** The endpoint table as it has to stand in the README, from the one table in `src/contract`. */
const endpointTable = [
  '| endpoint | name | status | scope | tests |',
  '|---|---|---|---|---|',
  ...endpointNames.map((name) => {
    const { method, path, status, response, scope } = endpoints[name];
    const answer = `${status}${response === null ? ', no body' : ''}`;
    const files = `\`contract.test.ts\`, \`${testFile(name)}\``;
    return `| ${method} \`${path}\` | \`${name}\` | ${answer} | ${scope === null ? 'any key' : `\`${scope}\``} | ${files} |`;
  }),
].join('\n');

function testFile(name: string): string {
  if (name.startsWith('persons.')) return 'persons.test.ts';
  return name.startsWith('playlists.') ? 'playlists.test.ts' : 'recordings-and-insights.test.ts';
}

describe('the README', () => {
  it('shows both commands near its top', () => {
    const top = readme.split('\n').slice(0, 15).join('\n');
    expect(top).toContain('npm ci && npm run demo');
    expect(top).toContain('npm ci && npm test');
  });

  it('has the endpoint table of the contract', () => {
    expect(readme).toContain(endpointTable);
  });

  it('names only files that are there', () => {
    const named = [...readme.matchAll(/`((?:src|test|config)\/[\w./-]+)`/g)].map(([, path]) => path ?? '');
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([]);
  });
});
