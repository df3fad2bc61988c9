import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../src/core/clock.ts';
import {
  type ExportRequest,
  type ExportResult,
  type StagedSnapshot,
  stageDataset,
} from '../../src/export/export-dataset.ts';
import { publishTogether } from '../../src/export/publish-together.ts';
import type { Row } from '../../src/snapshot/columns.ts';
import { datasetFolder, snapshotFolder } from '../snapshot/paths.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { distinctIdRows } from '../snapshot/rows.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';

/** 2026-11-20T12:55:00.123Z, for ever. */
export const stoppedClock: Clock = {
  now: () => Date.UTC(2026, 10, 20, 12, 55, 0, 123),
  sleep: () => Promise.resolve(),
};

/** Numbers columns in their order, and the elements of lists from 101. */
export const numbering: ExportRequest['numbering'] = (columns) =>
  columns.map(({ name, type }, at) => {
    const element = type === 'list<string>' ? { element_id: at + 101 } : {};
    return { name, type, id: at + 1, ...element };
  });

type Alone = ExportRequest & { settings: { keep: number } };

/** Exports one dataset alone. */
export async function exportDataset(
  request: Alone,
  publishing = (publish: () => void): boolean => (publish(), true),
): Promise<ExportResult & { removed: string[] }> {
  async function* staging(): AsyncGenerator<StagedSnapshot, void> {
    yield await stageDataset(request);
  }
  const { keep } = request.settings;
  const done = await publishTogether({ published: request.published, keep, publishing }, staging());
  if (done === 'refused') throw new Error('refused');
  const [one] = done;
  if (!one) throw new Error('nothing was staged');
  return { ...one.result, removed: one.removed };
}

/** An export of ten distinct ids in parts of four, but for what is given. */
export function exportRequest(dataDir: string, changes: Partial<Alone> = {}): Alone {
  return {
    published: publishedFilesIn(dataDir),
    dataset: 'distinct_ids',
    rows: distinctIdRows(10),
    settings: { partRows: 4, keep: 2, promote: [], mask: [] },
    numbering,
    pass: { id: 12, verdict: 'complete', finished_at: '2026-11-20T12:00:00.000Z' },
    erasureEpoch: 3,
    changes: null,
    seq: 7,
    unfinishedPass: undefined,
    newestPass: undefined,
    continues: undefined,
    table: { location: datasetFolder(dataDir, changes.dataset ?? 'distinct_ids'), gone: () => [] },
    clock: stoppedClock,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...changes,
  };
}

/** Exports `count` distinct ids, of a project in which nobody was erased. */
export function exportCount(dataDir: string, count: number, keep = 2): ReturnType<typeof exportDataset> {
  return exportDataset(
    exportRequest(dataDir, {
      rows: distinctIdRows(count),
      settings: { partRows: 4, keep, promote: [], mask: [] },
      erasureEpoch: 0,
    }),
  );
}

/** The rows that a reader finds who follows CURRENT, undefined where nothing was published. */
export async function publishedRows(dataDir: string): Promise<Row[] | undefined> {
  const dataset = 'distinct_ids';
  const current = publishedFilesIn(dataDir).readCurrent().snapshots[dataset];
  if (!current) return undefined;
  const { files, rows } = publishedFilesIn(dataDir).readManifest({ dataset, snapshotId: current.snapshot_id });
  const folder = snapshotFolder(dataDir, dataset, current.snapshot_id);
  const parts = await Promise.all(files.map(({ name }) => readWithHyparquet(join(folder, name))));
  const found = parts.flat() as Row[];
  if (found.length !== rows) throw new Error('a manifest that counts other rows than its parts have');
  return found;
}

/** Every file and folder below a folder, as paths relative to it. */
export function listAll(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
}
