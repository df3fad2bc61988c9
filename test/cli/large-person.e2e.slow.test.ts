import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, vi } from 'vitest';
import type { Running } from './run-cli.ts';
import { unlimited, openWorkspace } from './workspace.ts';

/** What one process may have, and all processes of a command together: one that has more is killed. */
const [eachMax, allMax] = [600, 768];
type Size = { distinctIds: number; recordings: number };
const sizes: Size[] = [
  { distinctIds: 20_000, recordings: 100_000 },
  { distinctIds: 100_000, recordings: 1_000 },
];

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

/** What was seen of a command from outside, in megabytes: the most that each of its processes had, and all at once. */
type Watched = { peaks: () => number[]; sum: () => number; stop: () => void };

/** Watches a command and what it starts, by what the system counts. Kills it beyond the limit. */
function watchMemory({ child }: Running): Watched {
  const peaks = new Map<number, number>();
  let sum = 0;
  const watch = setInterval(() => {
    const living = processesBelow(child.pid ?? 0).map((pid) => [pid, statusOf(pid)] as const);
    for (const [pid, status] of living) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, megabytesIn(status, 'VmHWM')));
    sum = Math.max(
      sum,
      living.reduce((all, [, status]) => all + megabytesIn(status, 'VmRSS'), 0),
    );
    if (sum > allMax) child.kill('SIGKILL');
  }, 50);
  return { peaks: () => [...peaks.values()], sum: () => sum, stop: () => clearInterval(watch) };
}

function megabytesIn(status: string, field: 'VmHWM' | 'VmRSS'): number {
  const [, kilobytes = '0'] = new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kilobytes) / 1024;
}

/** Runs a command to its end, within the limits. */
async function runWithin(running: Running): Promise<number | null> {
  const watched = watchMemory(running);
  const { code } = await running.ended.finally(watched.stop);
  expect(watched.sum()).toBeLessThan(allMax);
  for (const peak of watched.peaks()) expect(peak).toBeLessThan(eachMax);
  return code;
}

/** Asks a worker whether it lives, five times a second. Returns how long the slowest answer took. */
function askHealth(url: string): { slowestMs: () => number; stop: () => void } {
  let slowestMs = 0;
  const ask = async (): Promise<void> => {
    const beganAtMs = performance.now();
    const { status } = await fetch(`${url}/healthz`);
    slowestMs = Math.max(slowestMs, status === 200 ? performance.now() - beganAtMs : Infinity);
  };
  const timer = setInterval(() => void ask().catch(() => (slowestMs = Infinity)), 200);
  return { slowestMs: () => slowestMs, stop: () => clearInterval(timer) };
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

function countIn(dataDir: string, sql: string): unknown {
  const db = new Sqlite(join(dataDir, 'mirror.db'), { readonly: true });
  try {
    return db.prepare(sql).pluck().get();
  } finally {
    db.close();
  }
}

// Only this system tells of other processes in files.
it.runIf(process.platform === 'linux').each(sizes)(
  'a person of $distinctIds distinct ids and $recordings recordings is found, and erased and proved gone by a worker that answers meanwhile, within 768 MB',
  async (size) => {
    await using workspace = await openWorkspace({ persons: 20, recordings: 5, hostile: false });
    const { dataDir, run, start } = workspace;
    expect(await run(['sync', ...unlimited], { timeoutMs: 120_000 })).toMatchObject({ code: 0 });
    const uuid = enlarge(dataDir, size);
    const patience = { timeoutMs: 2_000_000 };
    expect(await run(['export', ...unlimited], patience)).toMatchObject({ code: 0 });
    const authority = ['--uuid', uuid, '--basis', 'objection', '--by', 'TEST-1', '--keep-events'];
    expect(await runWithin(start(['erase', 'add', ...unlimited, ...authority], patience))).toBe(0);

    const others = ['full', 'recordings', 'playlists', 'head', 'export', 'checkpoint', 'drill'];
    const schedule = [
      ...others.map((job) => `schedule.${job}=null`),
      'schedule.reconcile="* * * * * *"',
      'status.port=0',
    ];
    const worker = start(['run', '--json', ...unlimited, ...schedule.flatMap((each) => ['--set', each])], patience);
    const watched = watchMemory(worker);
    const { statusUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { statusUrl: string };
    const asked = askHealth(statusUrl);
    const verified = vi.waitFor(
      () => expect(countIn(dataDir, `SELECT verified_at FROM erasure_requests`)).toEqual(expect.any(String)),
      { timeout: 1_800_000, interval: 500 },
    );
    await Promise.race([
      verified,
      worker.ended.then(({ stderr }) => Promise.reject(new Error(`it ended at ${watched.sum()} MB: ${stderr}`))),
    ]);
    asked.stop();
    worker.child.kill('SIGTERM');
    expect(await worker.ended.finally(watched.stop)).toMatchObject({ code: 0 });
    expect(asked.slowestMs()).toBeLessThan(1000);
    // The worker, and its scanner twice.
    expect(watched.peaks().length).toBeGreaterThan(2);
    expect(watched.sum()).toBeLessThan(allMax);
    for (const peak of watched.peaks()) expect(peak).toBeLessThan(eachMax);

    expect(countIn(dataDir, `SELECT reason FROM erasure_requests`)).toBeNull();
    expect(countIn(dataDir, `SELECT count(*) FROM recordings WHERE person_uuid = '${uuid}'`)).toBe(0);
    expect(countIn(dataDir, `SELECT count(*) FROM fence`)).toBeGreaterThan(size.distinctIds + size.recordings);
    const lines = readFileSync(join(dataDir, 'ledger/entries.jsonl'), 'utf8').split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(1024 * 1024);
    expect(await runWithin(start(['audit', 'verify'], patience))).toBe(0);
    expect(spawnSync(process.execPath, ['docs/verifier/verify.mjs', join(dataDir, 'ledger')]).status).toBe(0);
  },
);
