import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jsonOf, runCli } from './run-cli.ts';

it('a command that is suggested names the project, as the command line did, and nothing else is changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-'));
  const config = join(folder, 'projects.yaml');
  writeFileSync(config, `dataDir: ${join(folder, 'data')}\nprojects:\n  - name: shop\n  - name: blog\n`);
  const one = await runCli(['status', '--config', config, '--project', 'shop']);
  expect(one.stderr).toContain('run `analytics-mirror --project shop sync` first');
  const json = await runCli(['status', '--json', '--config', config, '--project', 'shop']);
  expect(json.stdout).toContain('run `analytics-mirror --project shop sync` first');
  const other = join(folder, 'one.yaml');
  writeFileSync(other, `dataDir: ${join(folder, 'data')}\n`);
  expect((await runCli(['status', '--config', other])).stderr).toContain('run `analytics-mirror sync` first');
});

it('status of all projects answers first, and has the worst first', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-'));
  const config = join(folder, 'projects.yaml');
  // A folder that others can read is refused.
  mkdirSync(join(folder, 'blog'));
  writeFileSync(join(folder, 'blog', 'mirror.db'), '');
  chmodSync(join(folder, 'blog'), 0o755);
  writeFileSync(config, `dataDir: ${folder}\nprojects:\n  - name: shop\n  - name: blog\n`);
  const all = await runCli(['status', '--config', config, '--check']);
  expect(all.code).toBe(4);
  expect(all.stdout).toMatch(
    /^The data folder cannot be read: 1 of 2 projects \(blog\)\n\nATTENTION: blog: .*\n {2}.*--project blog doctor/,
  );
  expect(all.stdout).toMatch(/\nblog .*\nshop +Nothing is mirrored yet/);
  const { projects } = jsonOf(await runCli(['status', '--json', '--config', config])) as { projects: object[] };
  expect(projects).toMatchObject([
    { project: 'blog', tone: 'broken' },
    { project: 'shop', tone: 'new', problem: null },
  ]);
  rmSync(join(folder, 'blog'), { recursive: true });
  mkdirSync(join(folder, 'blog'), { mode: 0o700 });
  const lost = await runCli(['status', '--config', config, '--check']);
  expect([lost.code, lost.stdout]).toEqual([4, expect.stringMatching(/\nATTENTION: blog: .*there is no mirror yet/)]);
});
