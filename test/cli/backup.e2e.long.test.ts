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
  const { rows } = (await done(['query', 'SELECT uuid FROM persons ORDER BY 1 LIMIT 2'])) as {
    rows: [[string], [string]];
  };
  const [[uuid], [other]] = rows;
  const { folder: copy } = (await done(['backup', '--to', join(folder, 'backups')])) as { folder: string };
  await done(['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'dpo']);
  await done(['reconcile']);
  const add = ['erase', 'add', '--uuid', other, '--basis', 'objection', '--by', 'dpo'];
  const { requests } = (await done(add)) as { requests: [{ id: string }] };
  // Lost: the mirror. The ledger is the newest that there is.
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `mirror.db${suffix}`), { force: true });
  cpSync(join(copy, 'mirror.db'), join(dataDir, 'mirror.db'));
  expect(await done(['doctor'], 1)).toMatchObject({ ok: false });
  const ended = await run(['reconcile', ...unlimited]);
  expect(ended.code).toBe(4);
  expect(ended.stdout).toMatch(
    /^LOST: .* it is older, or was not written when they were received\. Add them again, unless you have since:\n {2}[\da-f-]{36}$/m,
  );
  expect(ended.stdout).toContain(`  ${requests[0].id}\n`);
  await done(['sync']);
  await done(['export']);
  expect(await done(['doctor'])).toMatchObject({ ok: true });
  await done(['audit', 'verify']);
  expect(await done(['query', `SELECT count(*) FROM persons WHERE uuid = '${uuid}'`])).toMatchObject({ rows: [[0]] });
}, 120_000);
