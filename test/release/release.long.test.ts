import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const script = fileURLToPath(new URL('../../config/release.ts', import.meta.url));
const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };

function openRepository() {
  const folder = freshFolder();
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const release = (...args: readonly string[]) => {
    const committer = { GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@example.com' };
    const author = { ...committer, GIT_AUTHOR_NAME: 'T', GIT_AUTHOR_EMAIL: 't@example.com' };
    const { status, stdout } = spawnSync(process.execPath, [script, ...args], {
      cwd: folder,
      env: { ...env, ...author },
      encoding: 'utf8',
    });
    return { code: status, stdout };
  };
  git('init', '--quiet');
  write('package.json', JSON.stringify({ name: 'released', version: '1.2.0' }));
  write('package-lock.json', JSON.stringify({ version: '1.2.0' }));
  write('.gitignore', '*.tgz\n');
  const commit = (): void => {
    git('add', '--all');
    git('commit', '--quiet', '--message', 'x');
  };
  return { folder, git, write, read, release, commit };
}

it('a release has a dated section of the changelog, a commit, a tag and a packed file; without what it needs it is refused', () => {
  const { folder, git, write, read, release, commit } = openRepository();
  write('CHANGELOG.md', '# Changelog\n\nRules. No version has been released yet.\n\n## Unreleased\n');
  write('package-lock.json', JSON.stringify({ version: '1.1.0' }));
  mkdirSync(join(folder, 'docs'));
  write('docs/start.md', 'git clone <this repository> here\n');
  expect(release()).toEqual({
    code: 1,
    stdout: `${[
      'error: there are changes that are not committed',
      'error: package.json names no repository; add `-- --repository https://…`',
      'error: CHANGELOG.md says nothing under "## Unreleased"',
      'error: package-lock.json has the version 1.1.0; run `npm install`',
    ].join('\n')}\n`,
  });
  write('CHANGELOG.md', '# Changelog\n\nRules. No version has been released yet.\n\n## Unreleased\n\n- New.\n');
  write('package-lock.json', JSON.stringify({ version: '1.2.0' }));
  commit();
  expect(release('--repository', 'git@example.com:a/b')).toMatchObject({ code: 1 });
  expect(release('--repository', 'https://git.example.com/team/released.git')).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, 'released-1.2.0.tgz'))).toBe(true);
  expect(git('tag', '--list')).toBe('v1.2.0\n');
  expect(git('log', '-1', '--format=%s')).toBe('Release 1.2.0\n');
  expect(git('status', '--porcelain')).toBe('');
  expect(read('CHANGELOG.md')).toMatch(
    /^# Changelog\n\nRules.\n\n## Unreleased\n\n## 1\.2\.0 - \d{4}-\d\d-\d\d\n\n- New.\n$/,
  );
  expect(read('docs/start.md')).toBe('git clone https://git.example.com/team/released here\n');
  expect(JSON.parse(read('package.json'))).toMatchObject({
    repository: { type: 'git', url: 'git+https://git.example.com/team/released.git' },
    bugs: 'https://git.example.com/team/released/issues',
  });
  write('CHANGELOG.md', read('CHANGELOG.md').replace('## Unreleased\n', '## Unreleased\n\n- Newer.\n'));
  commit();
  expect(release()).toEqual({ code: 1, stdout: 'error: there is a tag v1.2.0; raise the version\n' });
});
