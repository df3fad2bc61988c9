import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { patience, runWithin, valueIn, workWithin } from './memory-limit.ts';
import { unlimited, openWorkspace } from './workspace.ts';

type Size = { distinctIds: number; recordings: number };
const sizes: Size[] = [
  { distinctIds: 100_000, recordings: 1_000 },
  { distinctIds: 100_000, recordings: 100_000 },
  { distinctIds: 100, recordings: 1_000_000 },
];
const erasure = ['--basis', 'objection', '--by', 'TEST-1', '--keep-events'];
/** One answer that a person or a recording is gone is enough: the second would be asked for an hour later. */
const confirmedOnce = ['--set', 'deletions.confirmations=1'];

/** Expects that the only request has its certificate. */
function expectCertified(dataDir: string): void {
  expect(valueIn(dataDir, `SELECT state FROM erasure_requests`)).toMatch(/certified|sealed/);
}

/** Gives one person so many distinct ids and recordings, as if they had been mirrored. Returns the uuid. */
function enlarge(dataDir: string, { distinctIds, recordings }: Size): string {
  const db = new Sqlite(join(dataDir, 'mirror.db'));
  const person = db
    .prepare<[], { rowKey: number; uuid: string; id: number; ids: string }>(
      `SELECT row_key AS rowKey, uuid, id, distinct_ids AS ids FROM persons WHERE id IS NOT NULL ORDER BY uuid LIMIT 1`,
    )
    .get();
  if (!person) throw new Error('a mirror without persons');
  const { rowKey, uuid, id } = person;
  // One of them quotes the uuid, which the feed of deletions holds rightly.
  const more = Array.from({ length: distinctIds }, (_, n) =>
    n === 7 ? `did-${uuid}` : `device-${n}-of-somebody-large`,
  );
  const ids = [...(JSON.parse(person.ids) as string[]), ...more];
  db.transaction(() => {
    db.prepare(`UPDATE persons SET distinct_ids = ? WHERE row_key = ?`).run(JSON.stringify(ids), rowKey);
    const own = db.prepare(`INSERT INTO distinct_id_owners (distinct_id, person_row_key) VALUES (?, ?)`);
    for (const each of more) own.run(each, rowKey);
    const embedded = JSON.stringify({ id, uuid, distinct_ids: ids.slice(0, 3), properties: {} });
    const add = db.prepare(`INSERT INTO recordings (id, distinct_id, person_uuid, start_time, start_url, person,
      first_seen_pass, changed_at) VALUES (?, ?, ?, '2026-11-01T10:00:00Z', ?, ?, 1, '2026-11-01T10:00:00.000Z')`);
    for (let n = 0; n < recordings; n += 1)
      add.run(
        `0190c0de-0000-7000-8000-${String(n).padStart(12, '0')}`,
        ids[0],
        uuid,
        `https://x.example/${n}`,
        embedded,
      );
  })();
  db.close();
  return uuid;
}

// Only this system tells of other processes in files.
it.runIf(process.platform === 'linux').each(sizes)(
  'a person of $distinctIds distinct ids and $recordings recordings is found, erased, proved gone and certified by a worker that answers meanwhile, within 768 MB',
  async (size) => {
    await using workspace = await openWorkspace({ persons: 20, recordings: 5, hostile: false });
    const { dataDir, run } = workspace;
    expect(await run(['sync', ...unlimited], patience)).toMatchObject({ code: 0 });
    const uuid = enlarge(dataDir, size);
    expect(await run(['export', ...unlimited], patience)).toMatchObject({ code: 0 });
    await runWithin(workspace, ['erase', 'add', ...unlimited, '--uuid', uuid, ...erasure]);
    await workWithin('reconcile', workspace, ['reconcile'], () => expectCertified(dataDir), confirmedOnce);

    expect(valueIn(dataDir, `SELECT reason FROM erasure_requests`)).toBeNull();
    expect(valueIn(dataDir, `SELECT count(*) FROM recordings WHERE person_uuid = '${uuid}'`)).toBe(0);
    expect(valueIn(dataDir, `SELECT count(*) FROM fence`)).toBeGreaterThan(size.distinctIds + size.recordings);
    const lines = readFileSync(join(dataDir, 'ledger/entries.jsonl'), 'latin1').split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(1024 * 1024);
    await runWithin(workspace, ['audit', 'verify']);
    expect(spawnSync(process.execPath, ['docs/verifier/verify.mjs', join(dataDir, 'ledger')]).status).toBe(3);
  },
);

it.runIf(process.platform === 'linux')(
  'a person of 50 MB of properties is mirrored, published, erased, proved gone and certified by a worker that answers meanwhile, within 768 MB',
  async () => {
    await using workspace = await openWorkspace({ persons: 20, recordings: 5, hostile: false });
    const { dataDir, sandbox } = workspace;
    const text = (n: number): string =>
      `what somebody large has told us in answer number ${n}, in so many words of their own`;
    const properties = Object.fromEntries(Array.from({ length: 500_000 }, (_, n) => [`answer_${n}`, text(n)]));
    expect(JSON.stringify(properties).length).toBeGreaterThan(50_000_000);
    const { created } = sandbox.act({ do: 'create', distinct_ids: ['somebody-large'], properties });
    const uuid = created[0] ?? '';
    const large = ['--set', 'service.bodyBytesMax=120000000', ...confirmedOnce];
    await workWithin(
      'sync and export',
      workspace,
      ['full', 'export'],
      () => {
        expect(valueIn(dataDir, `SELECT length(properties) > 5e7 FROM persons WHERE uuid = '${uuid}'`)).toBe(1);
        expect(
          valueIn(dataDir, `SELECT count(*) FROM runs WHERE job = 'export' AND outcome IN ('done', 'incomplete')`),
        ).toBeGreaterThan(0);
      },
      large,
    );
    await runWithin(workspace, ['erase', 'add', ...unlimited, ...large, '--uuid', uuid, ...erasure]);
    await workWithin('reconcile', workspace, ['reconcile'], () => expectCertified(dataDir), large);
    expect(valueIn(dataDir, `SELECT count(*) FROM persons WHERE uuid = '${uuid}'`)).toBe(0);
    await runWithin(workspace, ['audit', 'verify']);
  },
);
