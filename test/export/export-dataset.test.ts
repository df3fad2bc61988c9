import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { sha256File } from '../../src/core/digest.ts';
import type { Row } from '../../src/snapshot/columns.ts';
import { currentPath, snapshotFolder } from '../snapshot/paths.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { distinctIdRows, personRow } from '../snapshot/rows.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { exportDataset, exportCount, exportRequest, listAll, publishedRows } from './export-fixture.ts';

const idNow = '20261120T125500.123Z';

test('writes bounded parts, a manifest that describes them, and CURRENT', async () => {
  const dataDir = temporaryFolder();
  const result = await exportDataset(exportRequest(dataDir));
  const folder = snapshotFolder(dataDir, 'distinct_ids', idNow);
  const part = async (name: string, rows: number) => ({
    name,
    rows,
    bytes: readFileSync(join(folder, name)).length,
    sha256: await sha256File(join(folder, name)),
  });
  const files = [
    await part('part-00001.parquet', 4),
    await part('part-00002.parquet', 4),
    await part('part-00003.parquet', 2),
  ];
  expect(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))).toEqual({
    format_version: 1,
    dataset: 'distinct_ids',
    snapshot_id: idNow,
    kind: 'full',
    created_at: '2026-11-20T12:55:00.123Z',
    pass: { id: 12, verdict: 'complete', finished_at: '2026-11-20T12:00:00.000Z' },
    erasure_epoch: 3,
    seq: 7,
    changes: null,
    rows: 10,
    files,
    columns: [
      { name: 'distinct_id', type: 'string', id: 1 },
      { name: 'person_uuid', type: 'string', id: 2 },
    ],
    publication: { layout: 4, part_rows: 4, promote: [], mask: [] },
    generator: { name: 'analytics-mirror', version: packageJson.version },
  });
  expect(JSON.parse(readFileSync(currentPath(dataDir), 'utf8'))).toEqual({
    format_version: 1,
    snapshots: { distinct_ids: { snapshot_id: idNow, manifest: `distinct_ids/${idNow}/manifest.json` } },
    tables: { distinct_ids: { version: 1, files: expect.any(Array) as unknown } },
  });
  expect(result).toEqual({
    snapshotId: idNow,
    kind: 'full',
    rows: 10,
    files: 3,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    unrepresentable: 0,
    removed: [],
  });
  expect(await publishedRows(dataDir)).toEqual([...distinctIdRows(10)]);
  expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
});

test('no rows give one part without rows, and nothing synced a null pass', async () => {
  const dataDir = temporaryFolder();
  await exportDataset(exportRequest(dataDir, { rows: [], pass: null }));
  const manifest = publishedFilesIn(dataDir).readManifest({ dataset: 'distinct_ids', snapshotId: idNow });
  expect(manifest.pass).toBe(null);
  expect(manifest.files).toEqual([expect.objectContaining({ name: 'part-00001.parquet', rows: 0 })]);
  expect(await publishedRows(dataDir)).toEqual([]);
});

test('publishes promoted and masked properties, and counts what no column can hold', async () => {
  const dataDir = temporaryFolder();
  const result = await exportDataset(
    exportRequest(dataDir, {
      dataset: 'persons',
      rows: [personRow('a'), personRow('b', { properties: '{"plan":"pro"}', created_at: 'never' })],
      settings: { partRows: 10, keep: 1, promote: ['plan', 'email'], mask: ['email', 'name'] },
    }),
  );
  expect(result.unrepresentable).toBe(1);
  const folder = snapshotFolder(dataDir, 'persons', idNow);
  const rows = await readWithHyparquet(join(folder, 'part-00001.parquet'));
  expect(
    rows.map(({ name, properties, property_plan: plan, property_email: email }) => [name, properties, plan, email]),
  ).toEqual([
    [null, '{"email":null}', null, null],
    [null, '{"plan":"pro"}', 'pro', null],
  ]);
  expect(publishedFilesIn(dataDir).readManifest({ dataset: 'persons', snapshotId: idNow }).columns.slice(-3)).toEqual([
    { name: 'property_plan', type: 'string', id: 9 },
    { name: 'property_email', type: 'string', id: 10 },
    { name: '_seq', type: 'int64', id: 11 },
  ]);
});

test('keeps the newest snapshots, and tells which it removed', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 1);
  await exportCount(dataDir, 2);
  const third = await exportCount(dataDir, 3);
  expect(third).toMatchObject({ snapshotId: '20261120T125500.125Z', removed: [idNow] });
  expect(listAll(join(dataDir, 'snapshots', 'distinct_ids')).filter((path) => !path.includes('/'))).toEqual([
    '20261120T125500.124Z',
    '20261120T125500.125Z',
    'metadata',
  ]);
  const fourth = await exportCount(dataDir, 4, 1);
  expect(fourth.removed).toEqual(['20261120T125500.124Z', '20261120T125500.125Z']);
  expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
});

test('datasets do not touch each other', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 5, 1);
  const settings = { partRows: 4, keep: 1, promote: [], mask: [] };
  await exportDataset(exportRequest(dataDir, { dataset: 'persons', rows: [personRow('a')], settings }));
  await exportDataset(exportRequest(dataDir, { dataset: 'persons', rows: [personRow('b')], settings }));
  expect(Object.keys(publishedFilesIn(dataDir).readCurrent().snapshots)).toEqual(['distinct_ids', 'persons']);
  expect(await publishedRows(dataDir)).toHaveLength(5);
});

test('clears what killed exports left, and nothing else', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 1);
  const published = listAll(dataDir);
  const snapshots = join(dataDir, 'snapshots', 'distinct_ids');
  cpSync(join(snapshots, idNow), join(snapshots, '20270101T000000.000Z'), { recursive: true });
  mkdirSync(join(snapshots, '20250101T000000.000Z'));
  mkdirSync(join(dataDir, 'tmp', 'snapshot-distinct_ids-20261120T125500.999Z.removed'));
  mkdirSync(join(dataDir, 'tmp', 'snapshot-distinct_ids-20261120T125500.999Z'));
  const foreign = [join(dataDir, 'tmp', 'snapshot-persons-1'), join(snapshots, 'notes')];
  for (const folder of foreign) mkdirSync(folder);
  const failing = exportDataset(exportRequest(dataDir, { rows: [{ distinct_id: 'a' }] }));
  await expect(failing).rejects.toThrow('a row without the field person_uuid');
  for (const folder of foreign) rmSync(folder, { recursive: true });
  expect(listAll(dataDir)).toEqual(published);
});

test('an abort leaves no trace, what was published untouched, and the rows closed', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 5);
  const before = listAll(dataDir);
  const controller = new AbortController();
  const progress: number[] = [];
  let isClosed = false;
  function* rows(): Generator<Row, void> {
    try {
      yield* distinctIdRows(1_000_000);
    } finally {
      isClosed = true;
    }
  }
  const exporting = exportDataset(
    exportRequest(dataDir, {
      rows: rows(),
      settings: { partRows: 5_000, keep: 2, promote: [], mask: [] },
      signal: controller.signal,
      onProgress: (count) => {
        progress.push(count);
        if (count > 12_000) controller.abort(new Error('stop'));
      },
    }),
  );
  await expect(exporting).rejects.toThrow('stop');
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
  expect(progress.at(-1)).toBeLessThan(20_000);
  expect(isClosed).toBe(true);
  expect(listAll(dataDir)).toEqual(before);
  expect(await publishedRows(dataDir)).toHaveLength(5);
});

test('bad settings are refused before anything is written, and the rows are closed', async () => {
  const dataDir = temporaryFolder();
  let isClosed = false;
  const rows: Iterable<Row> = {
    [Symbol.iterator]: () => ({
      next: () => ({ done: true, value: undefined }),
      return: () => {
        isClosed = true;
        return { done: true, value: undefined };
      },
    }),
  };
  const settings = { partRows: 4, keep: 1, promote: ['a', 'A'], mask: [] };
  const exporting = exportDataset(exportRequest(dataDir, { dataset: 'persons', rows, settings }));
  await expect(exporting).rejects.toMatchObject({ code: 'usage' });
  expect(isClosed).toBe(true);
  expect(existsSync(join(dataDir, 'snapshots'))).toBe(false);
});

test('a data folder that cannot be written is a storage error', async () => {
  const dataDir = join(temporaryFolder(), 'file');
  writeFileSync(dataDir, '');
  await expect(exportCount(dataDir, 1)).rejects.toMatchObject({
    name: 'AppError',
    code: 'storage',
    message: `the data folder cannot be opened (ENOTDIR): ${dataDir}`,
  });
});

test('a lost CURRENT costs no published snapshot', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 1);
  rmSync(currentPath(dataDir));
  await exportDataset(exportRequest(dataDir, { dataset: 'persons', rows: [personRow('a')] }));
  const second = await exportCount(dataDir, 2);
  expect(second.removed).toEqual([]);
  expect(publishedFilesIn(dataDir).readManifest({ dataset: 'distinct_ids', snapshotId: idNow }).rows).toBe(1);
  expect(await publishedRows(dataDir)).toHaveLength(2);
  expect((await exportCount(dataDir, 3)).removed).toEqual([idNow]);
});

test('a publishing that is refused leaves no trace', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 1);
  const before = listAll(dataDir);
  await expect(exportDataset(exportRequest(dataDir), () => false)).rejects.toThrow('refused');
  expect(listAll(dataDir)).toEqual(before);
});

test('a damaged CURRENT stops the export before it clears anything', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 1);
  const before = listAll(dataDir);
  writeFileSync(currentPath(dataDir), '{"format_version":1');
  await expect(exportCount(dataDir, 2)).rejects.toMatchObject({ code: 'storage' });
  expect(listAll(dataDir)).toEqual(before);
});

test('a reader who follows CURRENT never meets a missing or half snapshot', async () => {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 1, 3);
  const counts = Array.from({ length: 12 }, (_, index) => index + 2);
  const exporting = new AbortController();
  const seen: number[] = [];
  const readOn = async (): Promise<void> => {
    while (!exporting.signal.aborted) {
      const rows = await publishedRows(dataDir);
      seen.push(rows?.length ?? -1);
      expect(rows).toEqual([...distinctIdRows(rows?.length ?? 0)]);
    }
  };
  const exportOn = async (): Promise<void> => {
    for (const count of counts) await exportCount(dataDir, count, 3);
    exporting.abort();
  };
  await Promise.all([readOn(), exportOn()]);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(new Set(seen).size).toBeGreaterThan(3);
});
