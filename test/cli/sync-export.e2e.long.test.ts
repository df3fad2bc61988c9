import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { queryParquet } from '../../src/snapshot/read-parquet.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { jsonOf } from './run-cli.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 700, recordings: 90 });
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** Asks the mirror. */
async function query(sql: string): Promise<{ columns: string[]; rows: unknown[][] }> {
  return jsonOf(await workspace.run(['query', '--json', sql])) as { columns: string[]; rows: unknown[][] };
}

/** Rows of every list, with the time of their last change. */
const everyRow = `SELECT 'person', uuid, name, properties, created_at, changed_at FROM persons
    UNION ALL SELECT 'recording', id, distinct_id, person, start_time, changed_at FROM recordings
    UNION ALL SELECT 'distinct id', distinct_id, person_uuid, NULL, NULL, NULL FROM person_distinct_ids
    ORDER BY 1, 2`;

it('holds what the service holds, and publishes what it holds', async () => {
  const synced = await workspace.run(['sync', '--json', '--set', 'persons.pageSize=100', ...unlimited]);
  expect(synced.code).toBe(0);
  expect(jsonOf(synced)).toMatchObject({
    passes: [
      { dataset: 'persons', verdict: 'complete', rowsAdded: 700, rowsQuarantined: 0, countReported: 700 },
      { dataset: 'recordings', verdict: 'complete', rowsAdded: 90, rowsQuarantined: 0, countReported: 90 },
    ],
  });
  expect((await workspace.run(['export'])).code).toBe(0);

  const sql = `SELECT (SELECT count(*) FROM persons) AS persons, (SELECT count(*) FROM recordings) AS recordings,
    (SELECT count(*) FROM person_distinct_ids) AS distinct_ids, (SELECT count(*) FROM deletions) AS deletions,
    (SELECT count(*) FROM passes) AS passes`;
  const {
    columns,
    rows: [counts = []],
  } = await query(sql);
  const served = await Promise.all(
    ['persons.list', 'recordings.list'].map(async (name) => {
      const reply = await workspace.run(['call', name, '--param', 'limit=1', '--json']);
      return (jsonOf(reply) as { body: { count: number } }).body.count;
    }),
  );
  expect(counts.slice(0, 2)).toEqual(served);

  const { snapshots } = publishedFilesIn(workspace.dataDir).readCurrent();
  expect(Object.keys(snapshots).toSorted()).toEqual(columns.toSorted());
  for (const [index, dataset] of columns.entries()) {
    const id = snapshots[dataset]?.snapshot_id ?? '';
    const manifest = publishedFilesIn(workspace.dataDir).readManifest({ dataset, snapshotId: id });
    expect(manifest).toMatchObject({ rows: counts[index], pass: { verdict: 'complete' } });
    const folder = join(workspace.dataDir, 'snapshots', dataset, id);
    const [read] = await queryParquet(folder, `SELECT count(*) AS n FROM read_parquet('${folder}/*.parquet')`);
    expect(read).toEqual({ n: BigInt(manifest.rows) });
  }
});

it('changes nothing when nothing changed', async () => {
  const before = await query(everyRow);
  const again = await workspace.run(['sync', '--json']);
  expect(again.code).toBe(0);
  expect(jsonOf(again)).toMatchObject({
    passes: [
      { dataset: 'persons', verdict: 'complete', rowsReceived: 700, rowsAdded: 0, rowsChanged: 0 },
      { dataset: 'recordings', verdict: 'complete', rowsReceived: 90, rowsAdded: 0, rowsChanged: 0 },
    ],
  });
  expect(await query(everyRow)).toEqual(before);
});

it('takes a change over, and publishes it', async () => {
  const { rows } = await query('SELECT uuid, id FROM persons ORDER BY id LIMIT 1');
  const [uuid, id] = rows[0]?.map(String) ?? [];
  const change = ['--param', `id=${id}`, '--body', '{"properties":{"seen_by_test":9007199254740993}}'];
  expect((await workspace.run(['call', 'persons.update', ...change])).code).toBe(0);
  const synced = await workspace.run(['sync', 'persons', '--json']);
  expect(jsonOf(synced)).toMatchObject({ passes: [{ rowsAdded: 0, rowsChanged: 1 }] });
  expect((await workspace.run(['export', 'persons'])).code).toBe(0);
  const folder = join(workspace.dataDir, 'snapshots', 'persons');
  const current = publishedFilesIn(workspace.dataDir).readCurrent().snapshots['persons']?.snapshot_id ?? '';
  const [row] = await queryParquet(
    folder,
    `SELECT properties FROM read_parquet('${folder}/${current}/*.parquet') WHERE person_uuid = '${uuid}'`,
  );
  expect(row?.['properties']).toContain('"seen_by_test":9007199254740993');
});

it('mirrors the configured playlists', async () => {
  const configured = ['--set', `playlists.shortIds=[${workspace.sandbox.playlists.join(', ')}]`];
  const synced = await workspace.run(['sync', 'playlists', '--json', ...configured]);
  expect(synced.code).toBe(0);
  const { length } = workspace.sandbox.playlists;
  expect(jsonOf(synced)).toMatchObject({
    passes: [{ dataset: 'playlists', verdict: 'complete', rowsAdded: length }],
    // The documented answer has no body.
    membershipsTold: 0,
  });
  const { rows } = await query('SELECT short_id FROM playlists ORDER BY 1');
  expect(rows.flat()).toEqual(workspace.sandbox.playlists.toSorted());

  const missing = await workspace.run(['sync', 'playlists', '--json', '--set', 'playlists.shortIds=[nope]']);
  expect(missing.code).toBe(4);
  expect(jsonOf(missing)).toMatchObject({
    outcome: 'incomplete',
    passes: [{ verdict: 'incomplete', reason: 'not_found' }],
  });
  const { code, stderr } = await workspace.run(['sync', 'playlists']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: no playlist is configured\n {2}name them by short id: .*\n$/);
});

it('ends with code 4 when a pass or a snapshot is not proved complete', async () => {
  const noOverlap = ['--set', 'persons.overlap=0', '--set', 'persons.pageSize=100', ...unlimited];
  const synced = await workspace.run(['sync', 'persons', '--json', ...noOverlap]);
  expect(synced.code).toBe(4);
  expect(jsonOf(synced)).toMatchObject({ outcome: 'incomplete', passes: [{ rowsReceived: 700 }] });
  const exported = await workspace.run(['export', 'persons', '--json']);
  expect(exported.code).toBe(4);
  expect(jsonOf(exported)).toMatchObject({
    outcome: 'incomplete',
    snapshots: expect.arrayContaining([expect.objectContaining({ verdict: 'incomplete' })]) as unknown,
  });
  const { stdout } = await workspace.run(['status']);
  expect(stdout).toMatch(/persons full +incomplete \(/);
  expect(stdout).toMatch(/sync +incomplete/);
});

it('puts persons aside whose properties are nested too deeply, loses nobody else, and takes them once they may be', async () => {
  const mirror = ['--data-dir', join(workspace.folder, 'deep'), ...unlimited];
  const sync = async (...args: string[]): Promise<Record<string, number | string>> => {
    const ended = await workspace.run(['sync', 'persons', '--json', ...mirror, ...args]);
    expect(ended.code).toBe(0);
    return (jsonOf(ended) as { passes: [Record<string, number | string>] }).passes[0];
  };
  const shallow = await sync('--set', 'service.jsonDepthMax=15');
  expect(shallow).toMatchObject({ verdict: 'complete', rowsReceived: 700 });
  expect(shallow['rowsQuarantined']).toBeGreaterThan(10);
  expect(Number(shallow['rowsAdded']) + Number(shallow['rowsQuarantined'])).toBe(700);
  expect(await sync()).toMatchObject({ rowsQuarantined: 0, rowsAdded: shallow['rowsQuarantined'] });
});

it('draws its progress as wide as the terminal is now: a line of an earlier width would wrap, and could not be cleared', async () => {
  // Standard error is a terminal of 60 columns, which is made narrower after the first line of progress.
  const terminal = `data:text/javascript,${encodeURIComponent(`
    import { stderr } from 'node:process';
    let columns = 60;
    Object.defineProperties(stderr, { isTTY: { value: true }, columns: { get: () => columns } });
    const write = stderr.write.bind(stderr);
    stderr.write = (text) => { if (text.includes('sync persons')) columns = 20; return write(text); };
  `)}`;
  const synced = await workspace.run(['sync', '--fresh', ...unlimited], {
    env: { NODE_OPTIONS: `--import=${terminal}` },
  });
  expect(synced.code).toBe(0);
  const drawn = synced.stderr
    .split(/[\r\n]/)
    .map((line) => line.slice(line.indexOf('[2K') + '[2K'.length))
    .filter((line) => line.startsWith('sync '));
  expect(drawn[0]?.length).toBeGreaterThan(20);
  expect(drawn.length).toBeGreaterThan(1);
  for (const line of drawn.slice(1)) expect(line.length).toBeLessThan(20);
});
