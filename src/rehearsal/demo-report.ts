import { join } from 'node:path';
import type { App } from '../app/app.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { queryMirror } from '../mirror/query.ts';
import { listCurrentSnapshots } from '../snapshot/current-snapshots.ts';
import { parquetRows } from '../snapshot/duckdb.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { queryParquet } from '../snapshot/read-parquet.ts';
import { gatherContent } from '../status/gather-overview.ts';
import type { SnapshotReport } from '../status/overview.ts';
import type { DemoErasure } from './demo-erasure.ts';

/** The result of the demo, and where its files are. */
export type DemoReport = {
  dataDir: string;
  files: { mirror: string; snapshots: string };
  /** How many rows the service has, and the mirror and the Parquet files. */
  counts: { dataset: 'persons' | 'recordings'; service: number; mirror: number; parquet: number; verdict: string }[];
  snapshots: SnapshotReport[];
  erasure: DemoErasure;
  queries: { on: 'SQLite' | 'Parquet with DuckDB'; sql: string; columns: string[]; rows: unknown[][] }[];
};

/** Gathers the result of the demo: counts of service, mirror and Parquet, files, and queries with their answers. */
export async function describeDemo(app: App, { store }: Sandbox, erasure: DemoErasure): Promise<DemoReport> {
  const { dataDir } = app.settings;
  const db = app.databaseReadOnly();
  const about = { jobs: [], atMs: app.clock.now(), namesHeld: false };
  const { rows, passes, snapshots } = gatherContent(db, app.settings, about);
  const none = { limit: 0, offset: 0 };
  const served = { persons: store.persons.page({}, none).count, recordings: store.recordings.page(none).count };
  const published = publishedFilesIn(dataDir);
  const paths = listCurrentSnapshots(published).flatMap(({ dataset, files }) =>
    dataset === 'persons' ? files.map(({ path }) => path) : [],
  );
  const queries = [
    {
      on: 'SQLite',
      sql: "SELECT properties ->> 'plan' AS plan, count(*) AS persons FROM persons WHERE plan IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 4",
    },
    {
      on: 'SQLite',
      sql: 'SELECT p.name, count(*) AS recordings FROM recordings r JOIN persons p ON p.uuid = r.person_uuid GROUP BY p.uuid ORDER BY 2 DESC, 1 LIMIT 3',
    },
    {
      on: 'Parquet with DuckDB',
      sql: `SELECT year(created_at) AS year, count(*) AS persons FROM ${parquetRows(paths)} GROUP BY 1 ORDER BY 2 DESC LIMIT 3`,
    },
  ] as const;
  const answers = [];
  for (const { on, sql } of queries) {
    const answer = on === 'SQLite' ? queryMirror(db, sql, 10) : tabular(await queryParquet(published.localFolder, sql));
    answers.push({ on, sql, columns: answer.columns, rows: answer.rows });
  }
  const counts = (['persons', 'recordings'] as const).map((dataset) => ({
    dataset,
    service: served[dataset],
    mirror: rows[dataset],
    parquet: snapshots?.find((snapshot) => snapshot.dataset === dataset)?.rows ?? 0,
    verdict: passes.find((pass) => pass.dataset === dataset)?.verdict ?? 'none',
  }));
  const files = { mirror: join(dataDir, 'mirror.db'), snapshots: published.localFolder };
  return { dataDir, files, counts, snapshots: snapshots ?? [], erasure, queries: answers };
}

function tabular(rows: readonly Readonly<Record<string, unknown>>[]): { columns: string[]; rows: unknown[][] } {
  return { columns: Object.keys(rows[0] ?? {}), rows: rows.map((row) => Object.values(row)) };
}
