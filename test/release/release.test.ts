import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
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
  const release = () => {
    const author = { GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@example.com' };
    const { status, stdout } = spawnSync(process.execPath, [script], {
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
  return { folder, git, write, release, commit };
}

it('a release is a changelog entry, a packed file and a tag; without one of them it is refused', () => {
  const { folder, git, write, release, commit } = openRepository();
  write('CHANGELOG.md', '# Changelog\n\n## 1.1.0 - 2026-01-01\n- Old.\n');
  expect(release()).toEqual({
    code: 1,
    stdout: 'error: there are changes that are not committed\nerror: CHANGELOG.md has no heading "## 1.2.0 - <date>"\n',
  });
  write('CHANGELOG.md', '# Changelog\n\n## 1.2.0 - 2026-02-01\n\n## 1.1.0 - 2026-01-01\n- Old.\n');
  write('package-lock.json', JSON.stringify({ version: '1.1.0' }));
  commit();
  expect(release()).toEqual({
    code: 1,
    stdout:
      'error: CHANGELOG.md says nothing about 1.2.0\nerror: package-lock.json has the version 1.1.0; run `npm install`\n',
  });
  write('CHANGELOG.md', '# Changelog\n\n## 1.2.0 - 2026-02-01\n\n- New.\n');
  write('package-lock.json', JSON.stringify({ version: '1.2.0' }));
  commit();
  expect(release()).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, 'released-1.2.0.tgz'))).toBe(true);
  expect(git('tag', '--list')).toBe('v1.2.0\n');
  expect(release()).toEqual({ code: 1, stdout: 'error: there is a tag v1.2.0; raise the version\n' });
});
