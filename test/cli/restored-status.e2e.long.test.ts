import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openWorkspace, unlimited } from './workspace.ts';

it('status tells what was restored, before any job has run', async () => {
  await using workspace = await openWorkspace({ persons: 20 });
  const { dataDir } = workspace;
  const run = async (...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> =>
    workspace.run([...args, ...unlimited]);
  await run('sync');
  expect(await run('status', '--check')).toMatchObject({ code: 0 });
  const backups = join(workspace.folder, 'backups');
  await run('backup', '--to', backups);
  const { stdout } = await run('query', '--json', 'SELECT uuid FROM persons LIMIT 1');
  const { rows } = JSON.parse(stdout) as { rows: [[string]] };
  await run('erase', 'add', '--uuid', rows[0][0], '--basis', 'objection', '--by', 'the-test', '--keep-events');
  await run('reconcile');
  expect((await run('status', '--check')).stderr).not.toMatch(/^error/m);
  for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, `mirror.db${suffix}`), { force: true });
  copyFileSync(join(backups, readdirSync(backups)[0] ?? '', 'mirror.db'), join(dataDir, 'mirror.db'));
  const older = await run('status', '--check');
  expect(older).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: mirror\.db is an older copy/) as string,
  });
  const asked = [
    ['erase', 'list'],
    ['erase', 'show', 'a'],
    ['access', 'list'],
    ['where', '--uuid', rows[0][0]],
  ];
  for (const args of asked) expect(await run(...args)).toMatchObject({ code: 1, stdout: '', stderr: older.stderr });
  expect((await run('reconcile')).stderr).not.toMatch(/^error/m);
  expect((await run('status', '--check')).stderr).not.toMatch(/^error/m);
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `mirror.db${suffix}`), { force: true });
  expect(await run('status')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: mirror\.db is missing: .*\n {2}.*`analytics-mirror reconcile`/) as string,
  });
  await run('reconcile');
  rmSync(join(dataDir, 'ledger'), { recursive: true });
  expect(await run('status', '--check')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: the ledger is lost/) as string,
  });
}, 120_000);
