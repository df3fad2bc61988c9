import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { unlimited, openWorkspace, type Workspace } from './workspace.ts';

const megabytesMax = 600;
const distinctIds = 20_000;
const recordings = 10_000;

/** Gives one person so many distinct ids and recordings, as if they had been mirrored. Returns the uuid. */
function enlarge(dataDir: string): string {
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

/** The most memory, in megabytes, that each process of a command had, by what the system counts: the command, its scanner. */
async function peaksOf(start: () => ReturnType<Workspace['start']>): Promise<{ code: number | null; peaks: number[] }> {
  const running = start();
  const peaks = new Map<number, number>();
  const watch = setInterval(() => {
    for (const pid of processesBelow(running.child.pid ?? 0)) {
      const [, peak = '0'] = /^VmHWM:\s*(\d+) kB$/m.exec(statusOf(pid)) ?? [];
      peaks.set(pid, Math.max(peaks.get(pid) ?? 0, Number(peak) / 1024));
    }
  }, 50);
  const { code } = await running.ended.finally(() => clearInterval(watch));
  return { code, peaks: [...peaks.values()] };
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

function processesBelow(root: number): number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    const [, parent] = /^PPid:\s*(\d+)$/m.exec(/^\d+$/.test(name) ? statusOf(Number(name)) : '') ?? [];
    return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent) }];
  });
  const found = [root];
  for (const each of found) found.push(...parents.flatMap(({ pid, parent }) => (parent === each ? [pid] : [])));
  return found;
}

// Only this system tells of other processes in files.
it.runIf(process.platform === 'linux')(
  'a large person is found, fenced, erased and proved gone within 600 MB, and no quoted uuid is taken for residue',
  async () => {
    await using workspace = await openWorkspace({ persons: 20, recordings: 5, hostile: false });
    const { dataDir, run, start } = workspace;
    expect(await run(['sync', ...unlimited], { timeoutMs: 120_000 })).toMatchObject({ code: 0 });
    const uuid = enlarge(dataDir);
    const patience = { timeoutMs: 900_000 };
    expect(await run(['export', ...unlimited], patience)).toMatchObject({ code: 0 });
    const authority = ['--uuid', uuid, '--basis', 'objection', '--by', 'TEST-1', '--keep-events'];
    const added = await peaksOf(() => start(['erase', 'add', ...unlimited, ...authority], patience));
    const erased = await peaksOf(() => start(['reconcile', ...unlimited], patience));
    expect(erased.peaks.length).toBeGreaterThan(1);
    for (const peak of [...added.peaks, ...erased.peaks]) expect(peak).toBeLessThan(megabytesMax);
    const db = new Sqlite(join(dataDir, 'mirror.db'), { readonly: true });
    const [request] = db.prepare(`SELECT state, reason, verified_at AS verifiedAt FROM erasure_requests`).all();
    expect(db.prepare(`SELECT count(*) FROM recordings WHERE person_uuid = ?`).pluck().get(uuid)).toBe(0);
    expect(db.prepare(`SELECT count(*) FROM fence`).pluck().get()).toBeGreaterThan(distinctIds + recordings);
    db.close();
    expect(request).toMatchObject({ reason: null, verifiedAt: expect.any(String) });
    const lines = readFileSync(join(dataDir, 'ledger/entries.jsonl'), 'utf8').split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(1024 * 1024);
    expect(await run(['audit', 'verify'], patience)).toMatchObject({ code: 0 });
    expect(spawnSync(process.execPath, ['docs/verifier/verify.mjs', join(dataDir, 'ledger')]).status).toBe(0);
  },
);
