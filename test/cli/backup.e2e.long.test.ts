import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jsonOf } from './run-cli.ts';
import { openWorkspace, unlimited } from './workspace.ts';

it('a mirror that is lost comes back from a backup of before an erasure, as the page says, and the person stays out', async () => {
  await using workspace = await openWorkspace({ persons: 30, recordings: 5, hostile: false });
  const { run, folder, dataDir } = workspace;
  const done = async (args: string[], code = 0): Promise<object> => {
    const ended = await run([...args, '--json', ...unlimited]);
    expect([args, ended.code, ended.stderr]).toEqual([args, code, ended.stderr]);
    return jsonOf(ended) as object;
  };
  await done(['sync']);
  const { rows } = (await done(['query', 'SELECT uuid FROM persons ORDER BY 1 LIMIT 1'])) as { rows: [[string]] };
  const [[uuid]] = rows;
  const { folder: copy } = (await done(['backup', '--to', join(folder, 'backups')])) as { folder: string };
  await done(['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'dpo']);
  await done(['reconcile']);
  // Lost: the mirror. The ledger is the newest that there is.
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `mirror.db${suffix}`), { force: true });
  cpSync(join(copy, 'mirror.db'), join(dataDir, 'mirror.db'));
  expect(await done(['doctor'], 1)).toMatchObject({ ok: false });
  await done(['reconcile']);
  await done(['sync']);
  await done(['export']);
  expect(await done(['doctor'])).toMatchObject({ ok: true });
  await done(['audit', 'verify']);
  expect(await done(['query', `SELECT count(*) FROM persons WHERE uuid = '${uuid}'`])).toMatchObject({ rows: [[0]] });
}, 120_000);
